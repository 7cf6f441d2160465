"""What holds for every test: one thread, no leak of arrays, storages or nodes, and global settings put back.

Why it exists: a graph that outlives its test is a leak in the core, which no single test would notice.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Generator, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest
import torch

import cygrad
from cygrad._core.memory import live_objects

torch.set_num_threads(1)
cygrad.set_num_threads(1)

hypothesis.settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.register_profile(
    "explore", parent=hypothesis.settings.get_profile("default"), derandomize=False, max_examples=3000
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """What the imports made lives as long as the process; collections that ask for leaks need not walk it each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes on the item whether its test failed: the traceback of a failure keeps tensors alive."""
    report = yield
    if call.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(autouse=True)
def settings_restored() -> Iterator[None]:
    """Grad mode, dual level, default dtype and thread count are what they were, whatever the test did."""
    yield
    for m in (cygrad, torch):
        with contextlib.suppress(RuntimeError):  # none is open, unless the test has failed
            m.autograd.forward_ad.exit_dual_level()
        m.set_grad_enabled(True)
        m.set_default_dtype(m.float32)
    cygrad.set_num_threads(1)
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def nothing_leaked(request: pytest.FixtureRequest, settings_restored: None) -> Iterator[None]:
    """The live counters of the core return to where they stood."""
    before = live_objects()
    yield
    if request.node.stash.get(FAILED, False):
        return
    after = live_objects()
    if any(after[kind] > before[kind] for kind in before):  # a collection costs more than most tests
        gc.collect()
        after = live_objects()
    # Fewer may be alive than at the start: what an earlier failure kept has gone by now.
    assert all(after[kind] <= before[kind] for kind in before), (
        f"left alive: {after}, at the start of the test: {before}"
    )
