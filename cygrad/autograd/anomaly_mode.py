"""Anomaly mode: which line of the forward belongs to an exception, a NaN or an infinity.

How it works is in Note [Anomaly mode] of the core's anomaly.pxd. Both switches belong to the process, as torch's do.
"""

from __future__ import annotations

from cygrad._core.anomaly import anomaly_state, set_anomaly
from cygrad._warnings import warn

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def _switch(mode: bool, check_nan: bool, check_forward: bool, who: str) -> None:
    for name, value in (("mode", mode), ("check_nan", check_nan), ("check_forward", check_forward)):
        if not isinstance(value, bool):
            raise TypeError(f"cygrad.autograd.{who}: {name} must be a bool, not {type(value).__name__}")
    set_anomaly(mode, check_nan, check_forward)


class detect_anomaly:  # noqa: N801 (torch's name)
    """Context that finds the forward operation behind a failing backward.

    Operations recorded inside remember the Python stack that ran them. An exception raised in the backward of one of
    them carries it: as a note, which tracebacks print, and as the attribute ``forward_stacks``, a tuple of pairs (name
    of the Node, tuple of formatted frames): first that of the Node that failed, then, under double backward, those of
    the Nodes in whose backward it was recorded.

    ``check_nan``: a backward that gives NaN is a RuntimeError. ``check_forward``: so is (as FloatingPointError) the
    first operation whose result has a NaN or an infinity; it names the operation and the shapes. An operation that is
    not recorded (under ``no_grad``, or of tensors that require no grad) is to blame only where its inputs are finite.
    Everything is much slower meanwhile. TypeError for flags that are no bools.
    """

    def __init__(self, check_nan: bool = True, check_forward: bool = False) -> None:
        self._flags: tuple[bool, bool] = (check_nan, check_forward)
        self._outer: list[tuple[bool, bool, bool]] = []
        for name, value in (("check_nan", check_nan), ("check_forward", check_forward)):
            if not isinstance(value, bool):
                raise TypeError(f"cygrad.autograd.detect_anomaly: {name} must be a bool, not {type(value).__name__}")
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            UserWarning,
        )

    def __enter__(self) -> None:
        self._outer.append(anomaly_state())
        set_anomaly(True, *self._flags)

    def __exit__(self, *exception: object) -> None:
        set_anomaly(*self._outer.pop())


class set_detect_anomaly:  # noqa: N801 (torch's name)
    """Switch anomaly mode on or off at once; as a context manager, switch it back at the end.

    The flags are those of ``detect_anomaly``.
    """

    def __init__(self, mode: bool, check_nan: bool = True, check_forward: bool = False) -> None:
        self._outer: tuple[bool, bool, bool] = anomaly_state()
        _switch(mode, check_nan, check_forward, "set_detect_anomaly")

    def __enter__(self) -> None:
        """Nothing is left to do: the constructor has set the mode."""

    def __exit__(self, *exception: object) -> None:
        set_anomaly(*self._outer)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly_state()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when on, looks for NaN in backward."""
    return anomaly_state()[1]
