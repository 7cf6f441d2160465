# Choosing elements: by a mask, between bounds, by what kind of number they are ("Note [Kernels]").

from cygrad._core.array cimport Array

cdef Array* clamp(Array* a, Array* min, Array* max) noexcept nogil                # a bound may be NULL, not both; NaN is passed on
cdef Array* clamp_min(Array* a, Array* min) noexcept nogil
cdef Array* clamp_max(Array* a, Array* max) noexcept nogil
cdef Array* where(Array* condition, Array* a, Array* b) noexcept nogil            # condition: bool or uint8
cdef int masked_fill_(Array* target, Array* mask, Array* value) noexcept nogil    # writes the target, which may be expanded memory
cdef Array* masked_fill(Array* a, Array* mask, Array* value) noexcept nogil       # mask: bool; value: 0-d; the dtype stays a's
cdef Array* nan_to_num(Array* a, Array* nan, Array* posinf, Array* neginf) noexcept nogil    # NULL: 0, the largest and the lowest finite number
