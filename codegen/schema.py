"""Signatures of operations: `name.overload(Tensor self, *, Scalar alpha=1) -> Tensor` as typed records.

Why it exists: the generator's other parts reason about arguments by kind (tensor, number, list of integers, ...),
never by text.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class TableError(Exception):
    """A wrong entry of the table; the message names file, line and entry (located: it does so already)."""

    def __init__(self, message: str, located: bool = False) -> None:
        super().__init__(message)
        self.located = located


class Kind(enum.Enum):
    """What a value is, in signatures and in formulas."""

    TENSOR = "Tensor"
    TENSOR_OPT = "Tensor?"
    TENSORS = "Tensor[]"
    SCALAR = "Scalar"
    SCALAR_OPT = "Scalar?"
    INT = "int"
    INT_OPT = "int?"
    INTS = "int[]"
    INTS_OPT = "int[]?"
    BOOL = "bool"
    TRUE = "true"  # a flag whose overload is meant only where it is True
    FLOAT = "float"
    DTYPE = "ScalarType"
    DTYPE_OPT = "ScalarType?"
    FORMAT = "MemoryFormat"
    FORMAT_OPT = "MemoryFormat?"
    STR = "str"
    STR_OPT = "str?"

    @property
    def is_array(self) -> bool:
        """Held as an Array (nogil) or a Tensor (recorded); numbers too, as wrapped 0-d ones."""
        return self in (Kind.TENSOR, Kind.TENSOR_OPT, Kind.SCALAR, Kind.SCALAR_OPT)

    @property
    def is_number(self) -> bool:
        """Held as a C number."""
        return self in (Kind.INT, Kind.BOOL, Kind.FLOAT)

    @property
    def is_optional(self) -> bool:
        """May be None."""
        return self.value.endswith("?")


@dataclass(frozen=True)
class Argument:
    """One argument of a signature."""

    name: str
    kind: Kind
    default: str | None = None  # Python text of the default; None: required
    keyword_only: bool = False
    length: int | None = None  # int[2]: the length that a single number is repeated to
    number_ok: bool = False  # a Tensor argument that also accepts a Python number


@dataclass(frozen=True)
class Signature:
    """A parsed signature."""

    name: str  # "max"
    overload: str  # "dim" or ""
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]  # "Tensor", "Tensor[]", "bool", ...
    text: str

    @property
    def identifier(self) -> str:
        """Name of the C function: unique in the table."""
        return f"{self.name}_{self.overload}" if self.overload else self.name

    def argument(self, name: str) -> Argument | None:
        """The argument of that name."""
        return next((a for a in self.arguments if a.name == name), None)


_HEAD = re.compile(r"^(?P<name>\w+)(?:\.(?P<overload>\w+))?\((?P<arguments>[^()]*)\)(?:\s*->\s*(?P<returns>.+))?$")
_ARGUMENT = re.compile(
    r"^(?P<type>[A-Za-z]+)(?P<list>\[\d*\])?(?P<optional>\?)?\s+(?P<name>[A-Za-z_]\w*)(?:\s*=\s*(?P<default>.+))?$"
)


def split_commas(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    parts: list[str] = []
    depth, quote, current = 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "[(":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and depth == 0 and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts


def parse_argument(text: str, keyword_only: bool, numbers: bool) -> Argument:
    """Parse `int[1]? dim=None`."""
    match = _ARGUMENT.match(text)
    if match is None:
        raise TableError(f"cannot read the argument {text!r}")
    brackets = match["list"] or ""
    spelled = match["type"] + ("[]" if brackets else "") + (match["optional"] or "")
    try:
        kind = Kind(spelled)
    except ValueError:
        raise TableError(f"argument {match['name']!r} has the unknown type {spelled!r}") from None
    length = int(brackets[1:-1]) if len(brackets) > 2 else None
    return Argument(
        match["name"], kind, match["default"], keyword_only, length, numbers and kind in (Kind.TENSOR, Kind.TENSOR_OPT)
    )


def parse_signature(text: str, numbers: bool = False) -> Signature:
    """Parse a whole signature; `numbers`: its Tensor arguments accept Python numbers.

    Raises:
        TableError: the text is no signature, or a default comes before a required argument.

    """
    match = _HEAD.match(text.strip())
    if match is None:
        raise TableError(f"cannot read the signature {text!r}")
    arguments: list[Argument] = []
    keyword_only = False
    for part in split_commas(match["arguments"]):
        if part == "*":
            keyword_only = True
            continue
        argument = parse_argument(part, keyword_only, numbers)
        if any(a.name == argument.name for a in arguments):
            raise TableError(f"argument {argument.name!r} is named twice")
        if argument.default is None and not keyword_only and any(a.default is not None for a in arguments):
            raise TableError(f"required argument {argument.name!r} follows one with a default")
        arguments.append(argument)
    returns = match["returns"] or "Tensor"
    listed = split_commas(returns[1:-1]) if returns.startswith("(") else [returns]
    return Signature(match["name"], match["overload"] or "", tuple(arguments), tuple(listed), text.strip())
