"""The table of sample inputs: every operation of the core tier, one row each.

Why it exists: value, dtype, shape, node name, saved tensors, gradients and refusals of every operation are checked by
the same few tests (`test_oracle.py`, `test_gradients.py`), which only walk this table. An operation without a row fails
`test_table.py`.
"""

from __future__ import annotations

from ops import (
    samples_arithmetic,
    samples_elementwise,
    samples_indexing,
    samples_linalg,
    samples_logic,
    samples_nn,
    samples_reductions,
    samples_scatters,
    samples_shape,
)
from ops.spec import Entry, Sample

TABLE: tuple[Entry, ...] = (
    *samples_arithmetic.ENTRIES,
    *samples_elementwise.ENTRIES,
    *samples_logic.ENTRIES,
    *samples_reductions.ENTRIES,
    *samples_nn.ENTRIES,
    *samples_linalg.ENTRIES,
    *samples_shape.ENTRIES,
    *samples_indexing.ENTRIES,
    *samples_scatters.ENTRIES,
)


def rows() -> list[tuple[str, Entry, Sample]]:
    """Every sample of every operation, with a readable test id."""
    return [(f"{entry.name}-{number}", entry, sample) for entry in TABLE for number, sample in enumerate(entry.samples)]
