# Masks. Contract: masks.pxd.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from cygrad._core.array cimport (
    Array, IntList, MAX_DIMS, CONTIGUOUS, array_empty, array_zeros, array_incref, array_decref, broadcast_shape)
from cygrad._core.dtypes cimport ITEMSIZE, BOOL, UINT8, INT64, dtype_cname
from cygrad._core.errors cimport fail_i, fail_s, ERR_RUNTIME
from cygrad._core.kernels.copy cimport cast, contiguous, clone, copy_into, memory_overlaps
from cygrad._core.kernels.shape cimport expand, t
from cygrad._core.kernels.strided cimport Pair, Bits, Block, block_init, block_copy, block_add


cdef Py_ssize_t count_true(const char* m, Py_ssize_t n) noexcept nogil:
    # by bytes that differ from zero, eight at a time: foreign memory may hold another byte than 1
    cdef Py_ssize_t i = 0, total = 0
    cdef uint64_t word
    while i + 8 <= n:
        memcpy(&word, m + i, 8)
        if word != 0:
            word |= word >> 4
            word |= word >> 2
            word |= word >> 1
            total += ((word & <uint64_t>0x0101010101010101) * <uint64_t>0x0101010101010101) >> 56
        i += 8
    while i < n:
        total += m[i] != 0
        i += 1
    return total


cdef Array* flat_mask(Array* mask) noexcept nogil:
    # as contiguous bytes, zero or not; new reference
    cdef Array* m = cast(mask, BOOL) if mask.dtype != UINT8 else array_incref(mask)
    cdef Array* dense
    if m == NULL or m.flags & CONTIGUOUS:
        return m
    dense = contiguous(m)
    array_decref(m)
    return dense


cdef void true_places(Array* mask, Py_ssize_t* out, Py_ssize_t across) noexcept nogil:
    # coordinates of the True elements of a contiguous mask, of which there are `across`: of element k in dim d at out[k + d * across]
    cdef Py_ssize_t at[MAX_DIMS]
    cdef const char* m = mask.data
    cdef int d, last = mask.ndim - 1
    cdef Py_ssize_t i, row, rows, length, first, k = 0
    if mask.ndim == 0 or across == 0:
        return
    for d in range(mask.ndim):
        at[d] = 0
    length = mask.shape[last]
    rows = mask.numel // length
    for row in range(rows):
        first = k
        i = 0
        while i < length and k < across:
            out[last * across + k] = i
            k += m[i] != 0
            i += 1
        for d in range(last):
            for i in range(first, k):
                out[d * across + i] = at[d]
        if k == across:
            return
        m += length
        d = last - 1
        while d >= 0:
            at[d] += 1
            if at[d] < mask.shape[d]:
                break
            at[d] = 0
            d -= 1


cdef Array* true_columns(Array* a) noexcept nogil:
    # [ndim, n]: one row of coordinates a dim
    cdef Array* m = flat_mask(a)
    cdef Array* result
    cdef Py_ssize_t shape[2]
    if m == NULL:
        return NULL
    shape[0] = m.ndim
    shape[1] = count_true(m.data, m.numel)
    result = array_empty(INT64, 2, shape)
    if result != NULL:
        true_places(m, <Py_ssize_t*>result.data, shape[1])
    array_decref(m)
    return result


cdef Array* nonzero(Array* a) noexcept nogil:
    cdef Array* columns
    cdef Array* result
    if a == NULL:
        return NULL
    columns = true_columns(a)
    result = t(columns)
    array_decref(columns)
    return result


cdef inline void take_where(Bits* to, Py_ssize_t trues, const char* mask, const Bits* source) noexcept nogil:
    # Without a branch, which a mask without order would have mispredicted every second time: each element is written where the next True one belongs.
    cdef Py_ssize_t i = 0, k = 0
    while k < trues:
        to[k] = source[i]
        k += mask[i] != 0
        i += 1


cdef inline void put_where(Bits* to, Py_ssize_t trues, const char* mask, const Bits* source) noexcept nogil:
    cdef Py_ssize_t i = 0, k = 0
    while k < trues:
        if mask[i] != 0:
            to[i] = source[k]
            k += 1
        i += 1


cdef void move_where(int itemsize, bint put, char* to, Py_ssize_t trues, const char* mask, const char* source) noexcept nogil:
    if itemsize == 4:
        if put: put_where[uint32_t](<uint32_t*>to, trues, mask, <const uint32_t*>source)
        else: take_where[uint32_t](<uint32_t*>to, trues, mask, <const uint32_t*>source)
    elif itemsize == 8:
        if put: put_where[uint64_t](<uint64_t*>to, trues, mask, <const uint64_t*>source)
        else: take_where[uint64_t](<uint64_t*>to, trues, mask, <const uint64_t*>source)
    elif itemsize == 1:
        if put: put_where[uint8_t](<uint8_t*>to, trues, mask, <const uint8_t*>source)
        else: take_where[uint8_t](<uint8_t*>to, trues, mask, <const uint8_t*>source)
    elif itemsize == 2:
        if put: put_where[uint16_t](<uint16_t*>to, trues, mask, <const uint16_t*>source)
        else: take_where[uint16_t](<uint16_t*>to, trues, mask, <const uint16_t*>source)
    else:
        if put: put_where[Pair](<Pair*>to, trues, mask, <const Pair*>source)
        else: take_where[Pair](<Pair*>to, trues, mask, <const Pair*>source)


cdef Array* spread(Array* a, int ndim, const Py_ssize_t* shape) noexcept nogil:
    # a broadcast to shape, contiguous; new reference
    cdef IntList sizes
    cdef Array* wide
    cdef Array* dense
    sizes.n = ndim
    memcpy(sizes.v, shape, ndim * sizeof(Py_ssize_t))
    wide = expand(a, &sizes)
    dense = contiguous(wide)
    array_decref(wide)
    return dense


cdef int check_mask(Array* mask, const char* operation) noexcept nogil:
    if mask.dtype != BOOL:
        return fail_s(ERR_RUNTIME, "%s: expected BoolTensor for mask (it only supports boolean masks), but got mask with dtype %s; compare with zero first", operation, dtype_cname(mask.dtype), NULL)
    return 0


cdef Array* masked_select(Array* a, Array* mask) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t count
    cdef Array* values
    cdef Array* m
    cdef Array* result = NULL
    cdef int ndim
    if a == NULL or mask == NULL or check_mask(mask, "masked_select") < 0:
        return NULL
    ndim = broadcast_shape(a, mask, shape)
    if ndim < 0:
        return NULL
    values = spread(a, ndim, shape)
    m = spread(mask, ndim, shape)
    if values != NULL and m != NULL:
        count = count_true(m.data, m.numel)
        result = array_empty(a.dtype, 1, &count)
        if result != NULL:
            move_where(ITEMSIZE[a.dtype], False, result.data, count, m.data, values.data)
    array_decref(values)
    array_decref(m)
    return result


cdef Array* masked_select_backward(Array* grad, const IntList* sizes, Array* mask) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Array input_
    cdef Array* m
    cdef Array* dense
    cdef Array* whole = NULL
    cdef Array* result = NULL
    cdef Block block
    cdef int ndim, d, k
    if grad == NULL or mask == NULL or check_mask(mask, "masked_select_backward") < 0:
        return NULL
    input_.ndim = <short>sizes.n
    input_.shape = <Py_ssize_t*>sizes.v
    ndim = broadcast_shape(&input_, mask, shape)
    if ndim < 0:
        return NULL
    m = spread(mask, ndim, shape)
    dense = contiguous(grad)
    if m != NULL and dense != NULL:
        if dense.numel != count_true(m.data, m.numel):
            fail_i(ERR_RUNTIME, "masked_select_backward(): the gradient has %ld elements where the mask has another number of True", dense.numel, 0, 0)
        else:
            whole = array_zeros(grad.dtype, ndim, shape)
    if whole != NULL:
        move_where(ITEMSIZE[grad.dtype], True, whole.data, dense.numel, m.data, dense.data)
        if ndim == sizes.n and equal_sizes(ndim, shape, sizes.v):
            result = array_incref(whole)
        else:
            result = array_zeros(grad.dtype, sizes.n, sizes.v)
            if result != NULL and whole.numel > 0:
                for d in range(ndim):
                    k = d - ndim + sizes.n
                    strides[d] = result.strides[k] if k >= 0 and sizes.v[k] == shape[d] else 0
                block_init(&block, ITEMSIZE[grad.dtype], ndim, shape, strides, whole.strides)
                block_add(&block, grad.dtype, result.data, whole.data)
    array_decref(m)
    array_decref(dense)
    array_decref(whole)
    return result


cdef bint equal_sizes(int ndim, const Py_ssize_t* a, const Py_ssize_t* b) noexcept nogil:
    cdef int i
    for i in range(ndim):
        if a[i] != b[i]:
            return False
    return True


cdef int masked_scatter_(Array* target, Array* mask, Array* source) noexcept nogil:
    cdef Array* m
    cdef Array* dense = NULL
    cdef Array* work = NULL
    cdef Py_ssize_t trues
    cdef int status = -1
    if target == NULL or mask == NULL or source == NULL or check_mask(mask, "masked_scatter") < 0:
        return -1
    if source.dtype != target.dtype:
        return fail_s(ERR_RUNTIME, "masked_scatter: expected self and source to have same dtypes but got %s and %s; cast the source", dtype_cname(target.dtype), dtype_cname(source.dtype), NULL)
    m = spread(mask, target.ndim, target.shape)
    if m == NULL:
        return -1
    trues = count_true(m.data, m.numel)
    if trues > source.numel:
        array_decref(m)
        return fail_i(ERR_RUNTIME, "masked_scatter: Number of elements of source < number of ones in mask: the source has %ld", source.numel, 0, 0)
    dense = clone(source) if memory_overlaps(target, source) else contiguous(source)
    if dense != NULL and not dense.flags & CONTIGUOUS:
        work = contiguous(dense)
        array_decref(dense)
        dense = work
        work = NULL
    if dense != NULL:
        if target.flags & CONTIGUOUS:
            move_where(ITEMSIZE[target.dtype], True, target.data, trues, m.data, dense.data)
            status = 0
        else:
            work = contiguous(target)
            if work != NULL:
                move_where(ITEMSIZE[target.dtype], True, work.data, trues, m.data, dense.data)
                status = copy_into(target, work)
    array_decref(work)
    array_decref(dense)
    array_decref(m)
    return status


cdef Array* masked_scatter(Array* a, Array* mask, Array* source) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Array* result
    cdef int ndim, d, k
    cdef Block block
    if a == NULL or mask == NULL or source == NULL:
        return NULL
    ndim = broadcast_shape(a, mask, shape)
    if ndim < 0:
        return NULL
    result = array_empty(a.dtype, ndim, shape)
    if result == NULL:
        return NULL
    for d in range(ndim):
        k = d - ndim + a.ndim
        strides[d] = a.strides[k] if k >= 0 and a.shape[k] == shape[d] else 0
    if result.numel > 0:
        block_init(&block, ITEMSIZE[a.dtype], ndim, shape, result.strides, strides)
        block_copy(&block, result.data, a.data)
    if masked_scatter_(result, mask, source) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* masked_scatter_backward(Array* grad, Array* mask, const IntList* sizes) noexcept nogil:
    cdef Array* picked = masked_select(grad, mask)
    cdef Array* result
    if picked == NULL:
        return NULL
    result = array_zeros(grad.dtype, sizes.n, sizes.v)
    if result != NULL:
        memcpy(result.data, picked.data, (picked.numel if picked.numel < result.numel else result.numel) * ITEMSIZE[grad.dtype])
    array_decref(picked)
    return result
