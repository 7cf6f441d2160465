# Sizes and orders of dims that compositions of views compute. Contract: geometry.pxd.

from cygrad._core.array cimport normalize_dim
from cygrad._core.errors cimport raise_pending


cdef int checked_dim(Array* a, Py_ssize_t dim) except -1:
    cdef int d = normalize_dim(dim, a.ndim)
    if d < 0:
        raise_pending()
    return d


cdef const IntList* fact_reversed_dims(IntList* into, Array* a) noexcept nogil:
    cdef int i
    into.n = a.ndim
    for i in range(a.ndim):
        into.v[i] = a.ndim - 1 - i
    return into


cdef const IntList* fact_flat_sizes(IntList* into, Array* a, Py_ssize_t start, Py_ssize_t end) except NULL:
    cdef int first = checked_dim(a, start), last = checked_dim(a, end), i
    cdef Py_ssize_t product = 1
    if first > last:
        raise RuntimeError(f"cygrad: flatten() has invalid args: start_dim {start} cannot come after end_dim {end}")
    if a.ndim == 0:
        into.n = 1
        into.v[0] = 1
        return into
    into.n = 0
    for i in range(first):
        into.v[into.n] = a.shape[i]
        into.n += 1
    for i in range(first, last + 1):
        product *= a.shape[i]
    into.v[into.n] = product
    into.n += 1
    for i in range(last + 1, a.ndim):
        into.v[into.n] = a.shape[i]
        into.n += 1
    return into


cdef const IntList* fact_unflat_sizes(IntList* into, Array* a, Py_ssize_t dim, const IntList* sizes) except NULL:
    cdef int d = checked_dim(a, dim), i, open_at = -1
    cdef Py_ssize_t product = 1, have = a.shape[d] if a.ndim else 1
    if sizes.n == 0:
        raise RuntimeError("cygrad: unflatten: sizes must be non-empty")
    if a.ndim + sizes.n - 1 > 64:
        raise RuntimeError("cygrad: unflatten: a tensor has at most 64 dims")
    for i in range(sizes.n):
        if sizes.v[i] == -1:
            if open_at >= 0:
                raise RuntimeError("cygrad: unflatten: only one dimension can be inferred; give all sizes but one")
            open_at = i
        else:
            product *= sizes.v[i]
    if (open_at < 0 and product != have) or (open_at >= 0 and (product == 0 or have % product != 0)):
        raise RuntimeError(f"cygrad: unflatten: Provided sizes {[sizes.v[i] for i in range(sizes.n)]} don't multiply up to the size of dim {dim} ({have}) in the input tensor")
    into.n = 0
    for i in range(d):
        into.v[into.n] = a.shape[i]
        into.n += 1
    for i in range(sizes.n):
        into.v[into.n] = have // product if i == open_at else sizes.v[i]
        into.n += 1
    for i in range(d + 1, a.ndim):
        into.v[into.n] = a.shape[i]
        into.n += 1
    return into


cdef const IntList* fact_moved_dims(IntList* into, Array* a, const IntList* source, const IntList* destination) except NULL:
    cdef int i, k, at
    cdef int used[64]
    cdef int placed[64]
    if source.n != destination.n:
        raise RuntimeError(f"cygrad: movedim: Invalid source or destination dims: source has {source.n} and destination {destination.n} dims")
    for i in range(a.ndim):
        used[i] = placed[i] = 0
        into.v[i] = -1
    into.n = a.ndim
    for k in range(source.n):
        i = checked_dim(a, source.v[k])
        at = checked_dim(a, destination.v[k])
        if a.ndim == 0:
            return into
        if used[i] or placed[at]:
            raise RuntimeError("cygrad: movedim: repeated dim in source or destination; name every dim once")
        used[i] = placed[at] = 1
        into.v[at] = i
    i = 0
    for at in range(a.ndim):
        if not placed[at]:
            while used[i]:
                i += 1
            into.v[at] = i
            i += 1
    return into


cdef const IntList* fact_tile_repeats(IntList* into, Array* a, const IntList* dims) except NULL:
    cdef int missing = a.ndim - dims.n if a.ndim > dims.n else 0, i
    for i in range(missing):
        into.v[i] = 1
    for i in range(dims.n):
        into.v[missing + i] = dims.v[i]
    into.n = missing + dims.n
    return into


cdef Py_ssize_t fact_narrow_start(Array* a, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t length) except? -1:
    cdef int d
    cdef Py_ssize_t size
    if a.ndim == 0:
        raise RuntimeError("cygrad: narrow() cannot be applied to a 0-dim tensor.")
    d = checked_dim(a, dim)
    size = a.shape[d]
    if length < 0:
        raise RuntimeError(f"cygrad: narrow(): length must be non-negative, not {length}.")
    if start < -size or start > size:
        raise IndexError(f"cygrad: narrow(): start (got: {start}) must be in range [{-size}, {size}] of dim {dim}: start out of range")
    if start < 0:
        start += size
    if start > size - length:
        raise RuntimeError(f"cygrad: narrow(): start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return start


cdef Py_ssize_t fact_chunk_size(Array* a, Py_ssize_t chunks, Py_ssize_t dim) except? -1:
    cdef int d
    if a.ndim == 0:
        raise RuntimeError("cygrad: chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"cygrad: chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = checked_dim(a, dim)
    return (a.shape[d] + chunks - 1) // chunks
