# Views of a part of their argument, and their backward. Contract: slicing.pxd.

from libc.stdio cimport snprintf
from libc.string cimport memcpy
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.array cimport (
    Array, IntList, MAX_DIMS, array_empty, array_zeros, array_view, array_decref, normalize_dim, shape_text)
from cygrad._core.dtypes cimport ITEMSIZE, FLOAT64, real_of
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_RUNTIME, ERR_INDEX
from cygrad._core.kernels.copy cimport cast, contiguous
from cygrad._core.kernels.shape cimport contiguous_strides
from cygrad._core.kernels.strided cimport Block, block_init, block_copy, block_add, view_copy
from cygrad._core.kernels.ufuncs cimport UF_TRUE_DIVIDE, binary


cdef Array* fail_select(Array* a, int dim, Py_ssize_t index) noexcept nogil:
    cdef char have[220]
    cdef char text[500]
    if a.ndim == 0:
        fail(ERR_INDEX, "select() cannot be applied to a 0-dim tensor; it has one element, which .item() reads")
        return NULL
    shape_text(have, sizeof(have), a.ndim, a.shape)
    snprintf(text, sizeof(text), "select(): index %ld out of range for tensor of size %s at dimension %d", <long>index, have, dim)
    fail(ERR_INDEX, text)
    return NULL


cdef Array* select(Array* a, Py_ssize_t dim, Py_ssize_t index) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int d, i, n = 0
    if a == NULL:
        return NULL
    if unlikely(a.ndim == 0):
        return fail_select(a, 0, index)
    d = normalize_dim(dim, a.ndim)
    if unlikely(d < 0):
        return NULL
    if unlikely(index < -a.shape[d] or index >= a.shape[d]):
        return fail_select(a, d, index)
    if index < 0:
        index += a.shape[d]
    for i in range(a.ndim):
        if i != d:
            shape[n] = a.shape[i]
            strides[n] = a.strides[i]
            n += 1
    return array_view(a, a.dtype, a.data + index * a.strides[d], n, shape, strides)


cdef inline void clip_slice(Py_ssize_t size, Py_ssize_t* start, Py_ssize_t* stop) noexcept nogil:
    if start[0] < 0:
        start[0] += size
        if start[0] < 0:
            start[0] = 0
    elif start[0] > size:
        start[0] = size
    if stop[0] < 0:
        stop[0] += size
    elif stop[0] > size:
        stop[0] = size
    if stop[0] < start[0]:
        stop[0] = start[0]


cdef int check_slice(int ndim, Py_ssize_t dim, Py_ssize_t step) noexcept nogil:
    # the dim, or -1
    if unlikely(ndim == 0):
        return fail(ERR_RUNTIME, "slice() cannot be applied to a 0-dim tensor; unsqueeze it first")
    cdef int d = normalize_dim(dim, ndim)
    if unlikely(step <= 0):
        return fail_i(ERR_RUNTIME, "slice step must be positive, and it is %ld; use .flip(dim) to turn a dimension round", step, 0, 0)
    return d


cdef Array* slice_(Array* a, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int d, i
    if a == NULL:
        return NULL
    d = check_slice(a.ndim, dim, step)
    if unlikely(d < 0):
        return NULL
    clip_slice(a.shape[d], &start, &stop)
    for i in range(a.ndim):
        shape[i] = a.shape[i]
        strides[i] = a.strides[i]
    shape[d] = (stop - start - 1) // step + 1 if stop > start else 0
    strides[d] = a.strides[d] * step if shape[d] > 1 or step < (<Py_ssize_t>1 << 40) else a.strides[d]
    return array_view(a, a.dtype, a.data + start * a.strides[d], a.ndim, shape, strides)


cdef Array* split_view(Array* a, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int d, i
    cdef Py_ssize_t size
    if a == NULL:
        return NULL
    if a.ndim == 0:
        fail(ERR_RUNTIME, "narrow() cannot be applied to a 0-dim tensor; unsqueeze it first")
        return NULL
    if unlikely(length < 0):
        fail_i(ERR_RUNTIME, "narrow(): length must be non-negative, and it is %ld", length, 0, 0)
        return NULL
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return NULL
    size = a.shape[d]
    if unlikely(start < -size or start > size):
        fail_i(ERR_INDEX, "narrow(): start out of range (expected to be in range of [%ld, %ld], but got %ld)", -size, size, start)
        return NULL
    if start < 0:
        start += size
    if unlikely(length > size - start):
        fail_i(ERR_RUNTIME, "narrow(): start (%ld) + length (%ld) exceeds dimension size (%ld)", start, length, size)
        return NULL
    for i in range(a.ndim):
        shape[i] = a.shape[i]
    shape[d] = length
    return array_view(a, a.dtype, a.data + start * a.strides[d], a.ndim, shape, a.strides)


cdef int diagonal_geometry(int ndim, const Py_ssize_t* sizes, const Py_ssize_t* steps, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2,
                           Py_ssize_t* shape, Py_ssize_t* strides, Py_ssize_t* shift) noexcept nogil:
    cdef int i, j, k, n = 0
    cdef Py_ssize_t rows, columns, length
    i = normalize_dim(dim1, ndim)
    j = normalize_dim(dim2, ndim)
    if i < 0 or j < 0:
        return -1
    if i == j:
        return fail_i(ERR_RUNTIME, "diagonal(): diagonal dimensions cannot be identical %ld, %ld; name two", dim1, dim2, 0)
    rows = sizes[i]
    columns = sizes[j]
    if offset >= 0:
        length = rows if offset > columns or rows < columns - offset else columns - offset
        if offset >= columns:
            length = 0
    else:
        length = columns if offset < -rows or columns < rows + offset else rows + offset
        if offset <= -rows:
            length = 0
    shift[0] = 0 if length == 0 else offset * steps[j] if offset >= 0 else -offset * steps[i]
    for k in range(ndim):
        if k != i and k != j:
            shape[n] = sizes[k]
            strides[n] = steps[k]
            n += 1
    shape[n] = length
    strides[n] = steps[i] + steps[j]
    return 0


cdef Array* diagonal(Array* a, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Py_ssize_t shift
    if a == NULL or diagonal_geometry(a.ndim, a.shape, a.strides, offset, dim1, dim2, shape, strides, &shift) < 0:
        return NULL
    return array_view(a, a.dtype, a.data + shift, a.ndim - 1, shape, strides)


cdef int check_strided(Array* a, const IntList* sizes, const IntList* strides, Py_ssize_t offset) noexcept nogil:
    # Every element must lie inside of the storage.
    cdef Py_ssize_t room = <Py_ssize_t>a.storage.nbytes // ITEMSIZE[a.dtype], left
    cdef int i
    cdef bint empty = False, inside
    cdef char want[200]
    cdef char steps[200]
    cdef char text[700]
    if unlikely(sizes.n != strides.n):
        return fail_i(ERR_RUNTIME, "as_strided(): mismatch in length of strides and shape: %ld sizes and %ld strides", sizes.n, strides.n, 0)
    for i in range(sizes.n):
        if unlikely(sizes.v[i] < 0 or strides.v[i] < 0):
            shape_text(want, sizeof(want), sizes.n, sizes.v)
            shape_text(steps, sizeof(steps), strides.n, strides.v)
            return fail_s(ERR_RUNTIME, "as_strided: Negative strides are not supported at the moment, nor are negative sizes; got strides: %s and sizes: %s", steps, want, NULL)
        if sizes.v[i] == 0:
            empty = True
    if unlikely(offset < 0):
        return fail_i(ERR_RUNTIME, "as_strided(): invalid storage offset %ld; it counts elements from the start of the storage", offset, 0, 0)
    if empty:
        return 0
    left = room - 1 - offset
    inside = left >= 0
    for i in range(sizes.n):
        if sizes.v[i] > 1 and strides.v[i] > 0:
            if not inside or sizes.v[i] - 1 > left // strides.v[i]:
                inside = False
                break
            left -= (sizes.v[i] - 1) * strides.v[i]
    if not inside:
        shape_text(want, sizeof(want), sizes.n, sizes.v)
        shape_text(steps, sizeof(steps), strides.n, strides.v)
        snprintf(text, sizeof(text), "as_strided(): sizes %s, strides %s and storage offset %ld are out of bounds for storage of size %ld elements (%zu bytes)",
                 want, steps, <long>offset, <long>room, a.storage.nbytes)
        return fail(ERR_RUNTIME, text)
    return 0


cdef Array* as_strided(Array* a, const IntList* sizes, const IntList* strides, Py_ssize_t storage_offset) noexcept nogil:
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef Py_ssize_t item
    cdef int i
    if a == NULL:
        return NULL
    item = ITEMSIZE[a.dtype]
    if storage_offset == NO_OFFSET:
        storage_offset = (a.data - a.storage.data) // item
    if check_strided(a, sizes, strides, storage_offset) < 0:
        return NULL
    for i in range(sizes.n):
        steps[i] = strides.v[i] * item
    return array_view(a, a.dtype, a.storage.data + storage_offset * item if a.numel or storage_offset * item <= <Py_ssize_t>a.storage.nbytes else a.storage.data,
                      sizes.n, sizes.v, steps)


cdef int unfold_geometry(int ndim, const Py_ssize_t* sizes, const Py_ssize_t* steps, int itemsize, Py_ssize_t dim, Py_ssize_t size, Py_ssize_t step,
                         Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil:
    cdef int i, d = normalize_dim(dim, ndim)
    cdef Py_ssize_t room
    if d < 0:
        return -1
    room = sizes[d] if ndim > 0 else 1
    if size < 0:
        return fail_i(ERR_RUNTIME, "unfold(): size is %ld but must be >= 0", size, 0, 0)
    if size > room:
        return fail_i(ERR_RUNTIME, "unfold(): maximum size for tensor at dimension %ld is %ld but size is %ld", d, room, size)
    if step <= 0:
        return fail_i(ERR_RUNTIME, "unfold(): step is %ld but must be > 0", step, 0, 0)
    if ndim == MAX_DIMS:
        return fail_i(ERR_RUNTIME, "unfold(): the result would have %ld dimensions; at most %ld are possible", ndim + 1, MAX_DIMS, 0)
    for i in range(ndim):
        shape[i] = sizes[i]
        strides[i] = steps[i]
    if ndim > 0:
        shape[d] = (room - size) // step + 1
        strides[d] = steps[d] * step
    shape[ndim] = size
    strides[ndim] = steps[d] if ndim > 0 else itemsize
    return 0


cdef Array* unfold(Array* a, Py_ssize_t dim, Py_ssize_t size, Py_ssize_t step) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    if a == NULL or unfold_geometry(a.ndim, a.shape, a.strides, ITEMSIZE[a.dtype], dim, size, step, shape, strides) < 0:
        return NULL
    return array_view(a, a.dtype, a.data, a.ndim + 1, shape, strides)


cdef int drop(Array** outs, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        array_decref(outs[i])
        outs[i] = NULL
    return -1


cdef Py_ssize_t split_count(Array* a, Py_ssize_t split_size, Py_ssize_t dim) noexcept nogil:
    cdef int d
    if a.ndim == 0:
        return fail(ERR_RUNTIME, "split() expects at least a 1-dimensional tensor; unsqueeze it first")
    if split_size < 0:
        return fail_i(ERR_RUNTIME, "split(): split expects split_size be non-negative, but got split_size=%ld", split_size, 0, 0)
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    if split_size == 0:
        if a.shape[d] != 0:
            return fail_i(ERR_RUNTIME, "split(): split_size can only be 0 if dimension size is 0, but got dimension size of %ld", a.shape[d], 0, 0)
        return 1
    return (a.shape[d] - 1) // split_size + 1 if a.shape[d] > 0 else 1


cdef int split(Array* a, Py_ssize_t split_size, Py_ssize_t dim, Array** outs) noexcept nogil:
    cdef Py_ssize_t i, n, start = 0, length, left
    if a == NULL:
        return -1
    n = split_count(a, split_size, dim)
    if n < 0:
        return -1
    left = a.shape[normalize_dim(dim, a.ndim)]
    for i in range(n):
        length = split_size if split_size < left else left
        outs[i] = split_view(a, dim, start, length)
        if outs[i] == NULL:
            return drop(outs, i)
        start += length
        left -= length
    return 0


cdef int split_with_sizes(Array* a, const IntList* lengths, Py_ssize_t dim, Array** outs) noexcept nogil:
    cdef Py_ssize_t i, start = 0, total = 0
    cdef int d
    if a == NULL:
        return -1
    if a.ndim == 0:
        return fail(ERR_RUNTIME, "split_with_sizes() expects at least a 1-dimensional tensor; unsqueeze it first")
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    for i in range(lengths.n):
        if lengths.v[i] < 0:
            return fail_i(ERR_RUNTIME, "split_with_sizes expects split_sizes have only non-negative entries, and entry %ld is %ld", i, lengths.v[i], 0)
        if lengths.v[i] > a.shape[d]:
            total = -1
            break
        total += lengths.v[i]
    if total != a.shape[d]:
        return fail_i(ERR_RUNTIME, "split_with_sizes expects split_sizes to sum exactly to %ld (input tensor's size at dimension %ld)", a.shape[d], d, 0)
    for i in range(lengths.n):
        outs[i] = split_view(a, d, start, lengths.v[i])
        if outs[i] == NULL:
            return drop(outs, i)
        start += lengths.v[i]
    return 0


cdef int unbind(Array* a, Py_ssize_t dim, Array** outs) noexcept nogil:
    cdef Py_ssize_t i
    cdef int d
    if a == NULL:
        return -1
    if a.ndim == 0:
        return fail_i(ERR_INDEX, "unbind(): Dimension specified as %ld but tensor has no dimensions", dim, 0, 0)
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    for i in range(a.shape[d]):
        outs[i] = select(a, d, i)
        if outs[i] == NULL:
            return drop(outs, i)
    return 0


# Backward


cdef Array* zeros_around(Array* grad, const IntList* sizes, Py_ssize_t shift, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil:
    # zeros of `sizes` with grad at `shift`, where its shape is `shape`
    cdef Array* result
    cdef Block block
    cdef int i
    cdef bint fits = grad.ndim == ndim
    if fits:
        for i in range(ndim):
            if grad.shape[i] != shape[i]:
                fits = False
    result = array_zeros(grad.dtype, sizes.n, sizes.v)
    if result == NULL:
        return NULL
    if likely(fits):
        block_init(&block, ITEMSIZE[grad.dtype], ndim, shape, strides, grad.strides)
        if block.nbytes:
            block_copy(&block, result.data + shift, grad.data)
    elif view_copy(result, result.data + shift, ndim, shape, strides, grad) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* select_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Py_ssize_t index) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Py_ssize_t step, shift = 0
    cdef int d, i, n
    if grad == NULL:
        return NULL
    d = normalize_dim(dim, sizes.n)
    if d < 0:
        return NULL
    if sizes.n == 0 or index < -sizes.v[d] or index >= sizes.v[d]:
        fail_i(ERR_INDEX, "select_backward(): index %ld out of range at dimension %ld", index, d, 0)
        return NULL
    if index < 0:
        index += sizes.v[d]
    step = ITEMSIZE[grad.dtype]
    n = sizes.n - 1
    for i in range(sizes.n - 1, -1, -1):
        if i == d:
            shift = index * step
        else:
            n -= 1
            shape[n] = sizes.v[i]
            strides[n] = step
        step *= sizes.v[i] if sizes.v[i] > 1 else 1
    return zeros_around(grad, sizes, shift, sizes.n - 1, shape, strides)


cdef Array* slice_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Py_ssize_t shift
    cdef int d
    if grad == NULL:
        return NULL
    d = check_slice(sizes.n, dim, step)
    if d < 0:
        return NULL
    clip_slice(sizes.v[d], &start, &stop)
    contiguous_strides(ITEMSIZE[grad.dtype], sizes.n, sizes.v, strides)
    memcpy(shape, sizes.v, sizes.n * sizeof(Py_ssize_t))
    shape[d] = (stop - start - 1) // step + 1 if stop > start else 0
    shift = start * strides[d] if shape[d] > 0 else 0
    strides[d] *= step if shape[d] > 1 else 1
    return zeros_around(grad, sizes, shift, sizes.n, shape, strides)


cdef Array* diagonal_backward(Array* grad, const IntList* sizes, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil:
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Py_ssize_t shift
    if grad == NULL:
        return NULL
    contiguous_strides(ITEMSIZE[grad.dtype], sizes.n, sizes.v, steps)
    if diagonal_geometry(sizes.n, sizes.v, steps, offset, dim1, dim2, shape, strides, &shift) < 0:
        return NULL
    return zeros_around(grad, sizes, shift, sizes.n - 1, shape, strides)


cdef Array* unfold_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Py_ssize_t size, Py_ssize_t step) noexcept nogil:
    cdef Array* result
    cdef Block block
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int i, n = sizes.n + 1
    if grad == NULL:
        return NULL
    contiguous_strides(ITEMSIZE[grad.dtype], sizes.n, sizes.v, steps)
    if unfold_geometry(sizes.n, sizes.v, steps, ITEMSIZE[grad.dtype], dim, size, step, shape, strides) < 0:
        return NULL
    if grad.ndim != n:
        fail_i(ERR_RUNTIME, "unfold_backward(): the gradient has %ld dimensions where %ld are expected", grad.ndim, n, 0)
        return NULL
    for i in range(n):
        if grad.shape[i] != shape[i]:
            fail_i(ERR_RUNTIME, "unfold_backward(): the gradient has size %ld in dimension %ld where %ld is expected", grad.shape[i], i, shape[i])
            return NULL
    result = array_zeros(grad.dtype, sizes.n, sizes.v)
    if result == NULL:
        return NULL
    block_init(&block, ITEMSIZE[grad.dtype], n, shape, strides, grad.strides)
    block_add(&block, grad.dtype, result.data, grad.data)
    return result


cdef inline Py_ssize_t extent(const IntList* sizes, const IntList* strides) noexcept nogil:
    # from the first element to one past the last, in elements
    cdef Py_ssize_t last = 0
    cdef int i
    for i in range(sizes.n):
        last += (sizes.v[i] - 1) * strides.v[i]
    return last + 1


cdef bint may_overlap(const IntList* sizes, const IntList* strides) noexcept nogil:
    # Surely none where every stride, in rising order, steps over all that the smaller ones reach.
    cdef int order[MAX_DIMS]
    cdef int i, j, n = 0
    cdef Py_ssize_t reach = 0
    for i in range(sizes.n):
        if sizes.v[i] > 1:
            j = n - 1
            while j >= 0 and strides.v[order[j]] > strides.v[i]:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = i
            n += 1
    for i in range(n):
        if strides.v[order[i]] <= reach:
            return True
        reach += (sizes.v[order[i]] - 1) * strides.v[order[i]]
    return False


cdef inline void in_bytes(const IntList* strides, Py_ssize_t item, Py_ssize_t* into) noexcept nogil:
    cdef int i
    for i in range(strides.n):
        into[i] = strides.v[i] * item


cdef Array* share_evenly(Array* result, const IntList* sizes, const IntList* strides, Py_ssize_t first, Py_ssize_t room) noexcept nogil:
    # divides every element of result (geometry `sizes`, shown at `strides` in a storage of `room` elements) by how many elements show its place; steals result
    cdef Array* counts = array_zeros(FLOAT64, 1, &room)
    cdef Array* shown = NULL
    cdef Array* dense = NULL
    cdef Array* divisor = NULL
    cdef Array* quotient = NULL
    cdef Block block
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef Py_ssize_t still[MAX_DIMS]
    cdef double one = 1.0
    cdef int i
    if counts != NULL:
        in_bytes(strides, sizeof(double), steps)
        for i in range(sizes.n):
            still[i] = 0
        block_init(&block, sizeof(double), sizes.n, sizes.v, steps, still)
        block_add(&block, FLOAT64, counts.data + first * <Py_ssize_t>sizeof(double), <char*>&one)
        shown = array_view(counts, FLOAT64, counts.data + first * <Py_ssize_t>sizeof(double), sizes.n, sizes.v, steps)
        if shown != NULL:
            dense = contiguous(shown)
            if dense != NULL:
                divisor = cast(dense, real_of(result.dtype))
                if divisor != NULL:
                    quotient = binary(UF_TRUE_DIVIDE, result, divisor, result)
    array_decref(divisor)
    array_decref(dense)
    array_decref(shown)
    array_decref(counts)
    array_decref(result)
    return quotient


cdef Array* as_strided_backward(Array* grad, const IntList* input_sizes, const IntList* input_strides, Py_ssize_t input_offset,
                                const IntList* sizes, const IntList* strides, Py_ssize_t storage_offset) noexcept nogil:
    cdef Py_ssize_t item, room, first, start, n
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef Array* places
    cdef Array* result
    cdef Block block
    cdef bint empty = False
    cdef int i
    if grad == NULL:
        return NULL
    if input_sizes.n != input_strides.n or sizes.n != strides.n or grad.ndim != sizes.n:
        fail_i(ERR_RUNTIME, "as_strided_backward(): mismatch in length of strides and shape; the gradient has %ld dimensions, the view had %ld", grad.ndim, sizes.n, 0)
        return NULL
    for i in range(sizes.n):
        if grad.shape[i] != sizes.v[i]:
            fail_i(ERR_RUNTIME, "as_strided_backward(): the gradient has size %ld in dimension %ld where the view had %ld", grad.shape[i], i, sizes.v[i])
            return NULL
        if sizes.v[i] == 0:
            empty = True
    for i in range(input_sizes.n):
        if input_sizes.v[i] == 0:
            empty = True
    if empty:
        return array_zeros(grad.dtype, input_sizes.n, input_sizes.v)
    item = ITEMSIZE[grad.dtype]
    start = input_offset if input_offset < storage_offset else storage_offset
    first = input_offset - start
    room = first + extent(input_sizes, input_strides)
    n = storage_offset - start + extent(sizes, strides)
    if n > room:
        room = n
    places = array_zeros(grad.dtype, 1, &room)
    if places == NULL:
        return NULL
    in_bytes(strides, item, steps)
    block_init(&block, <int>item, sizes.n, sizes.v, steps, grad.strides)
    block_add(&block, grad.dtype, places.data + (storage_offset - start) * item, grad.data)
    result = array_empty(grad.dtype, input_sizes.n, input_sizes.v)
    if result != NULL:
        in_bytes(input_strides, item, steps)
        block_init(&block, <int>item, input_sizes.n, input_sizes.v, result.strides, steps)
        block_copy(&block, result.data, places.data + first * item)
        if may_overlap(input_sizes, input_strides):
            result = share_evenly(result, input_sizes, input_strides, first, room)
    array_decref(places)
    return result
