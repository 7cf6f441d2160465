# Array: making, viewing and freeing; shape arithmetic that every kernel needs. Contract: array.pxd.

from libc.stdint cimport uint64_t
from libc.string cimport memset, memcpy
from libc.stdint cimport int64_t, int32_t
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.memory cimport (
    Storage, block_alloc, block_free, storage_new, storage_incref, storage_decref, live_add, LIVE_ARRAYS, LIVE_STORAGES)
from cygrad._core.dtypes cimport (
    ITEMSIZE, BOOL, INT64, FLOAT64, COMPLEX128, is_integral_code, is_complex_code, promote, default_dtype, complex_of)
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_RUNTIME, ERR_INDEX
from libc.stdio cimport snprintf

cdef enum:
    SMALL_DATA = 32768       # data up to this many bytes lies in the block of its Storage and Array

cdef size_t STORAGE_ROOM = (sizeof(Storage) + 7) & ~<size_t>7
cdef size_t ARRAY_ROOM = (sizeof(Array) + 7) & ~<size_t>7


cdef inline size_t array_room(int ndim) noexcept nogil:
    return ARRAY_ROOM + 2 * <size_t>ndim * sizeof(Py_ssize_t)


cdef inline void header_init(Array* a, Storage* s, int dtype, int ndim, int flags) noexcept nogil:
    a.refs = 1
    a.storage = s
    a.dtype = <short>dtype
    a.ndim = <short>ndim
    a.flags = flags
    a.shape = <Py_ssize_t*>(<char*>a + ARRAY_ROOM)
    a.strides = a.shape + ndim


cdef int fail_size(int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef char text[320]
    cdef char sizes[200]
    shape_text(sizes, sizeof(sizes), ndim, shape)
    snprintf(text, sizeof(text), "cygrad: Storage size calculation overflowed with sizes=%s: no memory holds so many elements", sizes)
    return fail(ERR_RUNTIME, text)


cdef Array* array_empty(int dtype, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef Py_ssize_t numel = 1, stride = ITEMSIZE[dtype]
    cdef size_t nbytes, head, total
    cdef Storage* s
    cdef Array* a
    cdef int i
    cdef bint empty = False
    for i in range(ndim):
        if unlikely(shape[i] < 0):
            fail_i(ERR_RUNTIME, "cygrad: trying to create tensor with negative dimension %ld; sizes must be zero or more", shape[i], 0, 0)
            return NULL
        if shape[i] == 0:
            empty = True
        elif unlikely(numel > (<Py_ssize_t>1 << 56) // shape[i]):
            fail_size(ndim, shape)
            return NULL
        else:
            numel *= shape[i]
    if empty:
        numel = 0
    nbytes = <size_t>(numel * stride)
    head = STORAGE_ROOM + array_room(ndim)
    if likely(nbytes <= SMALL_DATA):
        head = (head + 63) & ~<size_t>63 if nbytes >= 64 else (head + 15) & ~<size_t>15
        total = head + nbytes
    else:
        total = head
    s = <Storage*>block_alloc(total)
    if unlikely(s == NULL):
        return NULL
    s.refs = 1
    s.nbytes = nbytes
    s.version.value = 0
    s.version.writer = NULL
    s.owner = NULL
    s.block_size = <unsigned int>total
    s.device = 0
    s.read_only = 0
    s.shown = 0
    s.inference = 0
    if likely(nbytes <= SMALL_DATA):
        s.data_in_block = 1
        s.data = <char*>s + head
    else:
        s.data_in_block = 0
        s.data = <char*>block_alloc(nbytes)
        if s.data == NULL:
            block_free(s, total)
            return NULL
    a = <Array*>(<char*>s + STORAGE_ROOM)
    header_init(a, s, dtype, ndim, CONTIGUOUS | IN_BLOCK)
    a.data = s.data
    a.numel = numel
    for i in range(ndim - 1, -1, -1):
        a.shape[i] = shape[i]
        a.strides[i] = stride
        stride *= shape[i] if shape[i] > 1 else 1
    live_add(LIVE_ARRAYS, 1)
    live_add(LIVE_STORAGES, 1)
    return a


cdef Array* array_zeros(int dtype, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef Array* a = array_empty(dtype, ndim, shape)
    if a != NULL:
        memset(a.data, 0, a.storage.nbytes)
    return a


cdef inline int dim_order(int n, const Py_ssize_t** strides, const Py_ssize_t* shape, int inner, int outer) noexcept nogil:
    # 1: `inner` takes larger steps than `outer` and belongs outside of it, -1: it does not, 0: no operand tells (a step of 0 is no answer)
    cdef int k
    cdef Py_ssize_t si, so
    for k in range(n):
        si = strides[k][inner]
        so = strides[k][outer]
        if si == 0 or so == 0:
            continue
        if si != so:
            return 1 if si > so else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


cdef bint dims_sort(int ndim, const Py_ssize_t* shape, int n, const Py_ssize_t** strides, int* order) noexcept nogil:
    # An insertion sort from the innermost dim on. Where no operand tells it looks on, and may exchange dims that are no neighbours, so that its steps show in the
    # result: they are torch's.
    cdef int i, k, place, found
    cdef bint moved = False
    for i in range(ndim):
        order[i] = ndim - 1 - i
    for i in range(1, ndim):
        place = i
        for k in range(i - 1, -1, -1):
            found = dim_order(n, strides, shape, order[k], order[place])
            if found > 0:
                order[k], order[place] = order[place], order[k]
                place = k
                moved = True
            elif found < 0:
                break
    return moved


cdef Array* array_empty_ordered(int dtype, int ndim, const Py_ssize_t* shape, const int* order) noexcept nogil:
    cdef Array* result = array_empty(dtype, ndim, shape)
    cdef Py_ssize_t expected = ITEMSIZE[dtype]
    cdef int i, last = ndim
    cdef bint plain = True
    if result == NULL or result.numel == 0:
        return result
    for i in range(ndim):
        result.strides[order[i]] = expected
        expected *= shape[order[i]]
        if shape[order[i]] != 1:
            plain = plain and order[i] < last
            last = order[i]
    if not plain:
        result.flags &= ~CONTIGUOUS
    return result


cdef Array* array_empty_like(Array* a, int dtype) noexcept nogil:
    # torch's preserve_format: the dims keep the order of their strides.
    cdef int order[64]
    if a == NULL:
        return NULL
    if a.flags & CONTIGUOUS or not dims_sort(a.ndim, a.shape, 1, <const Py_ssize_t**>&a.strides, order):
        return array_empty(dtype, a.ndim, a.shape)
    return array_empty_ordered(dtype, a.ndim, a.shape, order)


cdef bint array_dense(Array* a) noexcept nogil:
    cdef Py_ssize_t expected = ITEMSIZE[a.dtype]
    cdef uint64_t left = 0
    cdef int i, found
    if a.flags & CONTIGUOUS:
        return True
    for i in range(a.ndim):
        if a.shape[i] != 1:
            left |= <uint64_t>1 << i
    while left:
        found = -1
        for i in range(a.ndim):
            if left >> i & 1 and a.strides[i] == expected:
                found = i
        if found < 0:
            return False
        expected *= a.shape[found]
        left &= ~(<uint64_t>1 << found)
    return True


cdef Array* array_from_storage(Storage* s, int dtype, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil:
    cdef Array* a = <Array*>block_alloc(array_room(ndim))
    cdef Py_ssize_t numel = 1
    cdef int i
    if unlikely(a == NULL):
        return NULL
    storage_incref(s)
    header_init(a, s, dtype, ndim, 0)
    a.data = data
    for i in range(ndim):
        a.shape[i] = shape[i]
        a.strides[i] = strides[i]
        numel *= shape[i]
    a.numel = numel
    if strides_contiguous(ITEMSIZE[dtype], ndim, shape, strides):
        a.flags = CONTIGUOUS
    live_add(LIVE_ARRAYS, 1)
    return a


cdef Array* array_view(Array* base, int dtype, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil:
    if base == NULL:
        return NULL
    return array_from_storage(base.storage, dtype, data, ndim, shape, strides)


cdef Array* array_alias(Array* base) noexcept nogil:
    if base == NULL:
        return NULL
    return array_from_storage(base.storage, base.dtype, base.data, base.ndim, base.shape, base.strides)


cdef Array* scalar_bool(bint v) noexcept nogil:
    cdef Array* a = array_empty(BOOL, 0, NULL)
    if a != NULL:
        a.data[0] = v
        a.flags |= WRAPPED
    return a


cdef Array* scalar_int(int64_t v) noexcept nogil:
    cdef Array* a = array_empty(INT64, 0, NULL)
    if a != NULL:
        (<int64_t*>a.data)[0] = v
        a.flags |= WRAPPED
    return a


cdef Array* scalar_double(double v) noexcept nogil:
    cdef Array* a = array_empty(FLOAT64, 0, NULL)
    if a != NULL:
        (<double*>a.data)[0] = v
        a.flags |= WRAPPED
    return a


cdef Array* scalar_complex(double re, double im) noexcept nogil:
    cdef Array* a = array_empty(COMPLEX128, 0, NULL)
    if a != NULL:
        (<double*>a.data)[0] = re
        (<double*>a.data)[1] = im
        a.flags |= WRAPPED
    return a


cdef void array_free(Array* a) noexcept nogil:
    cdef Storage* s = a.storage
    live_add(LIVE_ARRAYS, -1)
    if not (a.flags & IN_BLOCK):
        block_free(a, array_room(a.ndim))
    storage_decref(s)


cdef bint strides_contiguous(int itemsize, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil:
    cdef Py_ssize_t expected = itemsize
    cdef int i
    for i in range(ndim):
        if shape[i] == 0:
            return True
    for i in range(ndim - 1, -1, -1):
        if shape[i] != 1:
            if strides[i] != expected:
                return False
            expected *= shape[i]
    return True


cdef int normalize_dim(Py_ssize_t dim, int ndim) noexcept nogil:
    cdef int room = ndim if ndim > 0 else 1
    if unlikely(dim < -room or dim >= room):
        return fail_i(ERR_INDEX, "cygrad: Dimension out of range (expected to be in range of [%ld, %ld], but got %ld)", -room, room - 1, dim)
    return <int>(dim + room if dim < 0 else dim)


cdef int shape_text(char* into, int room, int ndim, const Py_ssize_t* shape) noexcept nogil:
    # "[2, 3]" as torch writes sizes in messages
    cdef int at = 0, i
    at += snprintf(into, room, "[")
    for i in range(ndim):
        if at < room - 24:
            at += snprintf(into + at, room - at, "%ld" if i == 0 else ", %ld", <long>shape[i])
    snprintf(into + at, room - at, "]")
    return at


cdef int broadcast_shape(Array* a, Array* b, Py_ssize_t* shape) noexcept nogil:
    cdef int ndim = a.ndim if a.ndim > b.ndim else b.ndim
    cdef int i, ia, ib
    cdef Py_ssize_t na, nb
    cdef char text[640]
    cdef char sizes_a[200]
    cdef char sizes_b[200]
    for i in range(ndim):
        ia = i - ndim + a.ndim
        ib = i - ndim + b.ndim
        na = a.shape[ia] if ia >= 0 else 1
        nb = b.shape[ib] if ib >= 0 else 1
        if na == nb or nb == 1:
            shape[i] = na
        elif na == 1:
            shape[i] = nb
        else:
            shape_text(sizes_a, sizeof(sizes_a), a.ndim, a.shape)
            shape_text(sizes_b, sizeof(sizes_b), b.ndim, b.shape)
            snprintf(text, sizeof(text), "cygrad: The size of tensor a (%ld) must match the size of tensor b (%ld) at non-singleton dimension %d: "
                     "shapes %s and %s do not broadcast; reshape one of them", <long>na, <long>nb, i, sizes_a, sizes_b)
            return fail(ERR_RUNTIME, text)
    return ndim


cdef inline int category(int t) noexcept nogil:
    return 0 if t == BOOL else 1 if is_integral_code(t) else 3 if is_complex_code(t) else 2


cdef int result_dtype(Array* a, Array* b) noexcept nogil:
    # Three priorities: tensors with dims, 0-d tensors, wrapped numbers. A lower priority counts only where its category is higher.
    cdef int by_priority[3]
    cdef int result = -1, i, p, t
    cdef Array* x
    if b == NULL or (a.dtype == b.dtype and (a.flags | b.flags) & WRAPPED == 0):
        if a.flags & WRAPPED == 0:
            return a.dtype
    by_priority[0] = by_priority[1] = by_priority[2] = -1
    for i in range(2):
        x = a if i == 0 else b
        if x == NULL:
            continue
        t = x.dtype
        if x.flags & WRAPPED:
            p = 2
            # a Python float counts as the default dtype, a Python complex as its complex
            t = default_dtype() if t == FLOAT64 else complex_of(default_dtype()) if t == COMPLEX128 else t
        else:
            p = 0 if x.ndim > 0 else 1
        by_priority[p] = t if by_priority[p] < 0 else promote(by_priority[p], t)
    for p in range(3):
        t = by_priority[p]
        if t < 0:
            continue
        if result < 0:
            result = t
        elif category(t) > category(result):
            # a complex number of lower priority makes a float tensor complex, at the tensor's own precision
            result = complex_of(result) if is_complex_code(t) and category(result) == 2 else promote(result, t)
    return result
