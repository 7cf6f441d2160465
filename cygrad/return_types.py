"""The named tuples that operations with several results return, such as the values and indices of ``max``.

Why not typing.NamedTuple: the classes are made from the operation table, and they print and pickle as
``cygrad.return_types.max(...)``.
"""

from __future__ import annotations

from collections import namedtuple

_made: dict[str, type[tuple[object, ...]]] = {}


def return_type(name: str, fields: tuple[str, ...]) -> type[tuple[object, ...]]:
    """The class of the results of operation ``name``, one a name; ``fields`` are the names of its entries."""
    if name not in _made:
        base = namedtuple(name, fields)  # type names come from the operation table

        def show(self: tuple[object, ...]) -> str:
            entries = ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True))
            return f"cygrad.return_types.{name}(\n{entries})"

        _made[name] = type(
            name,
            (base,),
            {"__repr__": show, "__slots__": (), "__module__": __name__, "__doc__": f"The results of cygrad.{name}."},
        )
        globals()[name] = _made[name]
    return _made[name]
