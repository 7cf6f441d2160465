# Sorting along a dimension. Contract: sorting.pxd.
#
# Every lane is copied into a dense buffer of keys beside their positions, sorted there by merging (D. Knuth, The Art of Computer Programming 3, 5.2.4;
# runs of 16 by insertion first), and written out. float16 is sorted as float32, bool as bytes.

from libc.stdint cimport int64_t, uint8_t, int8_t, int16_t, int32_t
from libc.string cimport memcpy
from cygrad._core.array cimport Array, IntList, MAX_DIMS, array_empty, array_incref, array_decref, normalize_dim
from cygrad._core.memory cimport block_alloc, block_free
from cygrad._core.dtypes cimport (
    ITEMSIZE, BOOL, UINT8, INT8, INT16, INT32, INT64, FLOAT16, FLOAT32, FLOAT64, dtype_cname, is_complex_code, is_float_code)
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_RUNTIME, ERR_INDEX, ERR_NOT_IMPLEMENTED
from cygrad._core.kernels.copy cimport cast
from cygrad._core.kernels.shape cimport reshape

ctypedef fused Key:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double

cdef enum Pick:
    PICK_FIRST           # the first `count` of the order
    PICK_KTH             # the one at `count` - 1
    PICK_MEDIAN
    PICK_NANMEDIAN

cdef enum:
    RUN = 16


cdef inline bint before(Key a, Key b, bint descending) noexcept nogil:
    # strictly before; NaN is greater than every number
    if Key is float or Key is double:
        if descending:
            return a > b or (a != a and b == b)
        return a < b or (b != b and a == a)
    else:
        return a > b if descending else a < b


cdef void merge_sort(Key* keys, int64_t* at, Key* keys2, int64_t* at2, Py_ssize_t n, bint descending) noexcept nogil:
    # sorts keys and at; the other two are room
    cdef Py_ssize_t i, j, k, low, mid, high, width
    cdef Key key
    cdef int64_t position
    cdef Key* from_keys = keys
    cdef Key* to_keys = keys2
    cdef int64_t* from_at = at
    cdef int64_t* to_at = at2
    low = 0
    while low < n:
        high = low + RUN if low + RUN < n else n
        for i in range(low + 1, high):
            key = keys[i]
            position = at[i]
            j = i - 1
            while j >= low and before(key, keys[j], descending):
                keys[j + 1] = keys[j]
                at[j + 1] = at[j]
                j -= 1
            keys[j + 1] = key
            at[j + 1] = position
        low = high
    width = RUN
    while width < n:
        low = 0
        while low < n:
            mid = low + width if low + width < n else n
            high = mid + width if mid + width < n else n
            i = low
            j = mid
            if mid == high or not before(from_keys[mid], from_keys[mid - 1], descending):
                memcpy(to_keys + low, from_keys + low, (high - low) * sizeof(Key))     # in order already
                memcpy(to_at + low, from_at + low, (high - low) * sizeof(int64_t))
                low = high
                continue
            for k in range(low, high):
                if i < mid and (j >= high or not before(from_keys[j], from_keys[i], descending)):
                    to_keys[k] = from_keys[i]
                    to_at[k] = from_at[i]
                    i += 1
                else:
                    to_keys[k] = from_keys[j]
                    to_at[k] = from_at[j]
                    j += 1
            low = high
        from_keys, to_keys = to_keys, from_keys
        from_at, to_at = to_at, from_at
        width *= 2
    if from_keys != keys:
        memcpy(keys, from_keys, n * sizeof(Key))
        memcpy(at, from_at, n * sizeof(int64_t))


cdef inline bint heap_before(Key a, int64_t ia, Key b, int64_t ib, bint descending) noexcept nogil:
    return before(a, b, descending) or (ia < ib and not before(b, a, descending))


cdef void heap_select(Key* keys, int64_t* at, Py_ssize_t n, Py_ssize_t k, bint descending) noexcept nogil:
    # moves the k first of the order into the k first places; a heap with the last of them at its root
    cdef Py_ssize_t i, start
    for start in range(k // 2 - 1, -1, -1):
        sift(keys, at, start, k, descending)
    for i in range(k, n):
        if heap_before(keys[i], at[i], keys[0], at[0], descending):
            keys[0] = keys[i]
            at[0] = at[i]
            sift(keys, at, 0, k, descending)


cdef void sift(Key* keys, int64_t* at, Py_ssize_t parent, Py_ssize_t k, bint descending) noexcept nogil:
    cdef Key key = keys[parent]
    cdef int64_t position = at[parent]
    cdef Py_ssize_t child
    while True:
        child = 2 * parent + 1
        if child >= k:
            break
        if child + 1 < k and heap_before(keys[child], at[child], keys[child + 1], at[child + 1], descending):
            child += 1
        if not heap_before(key, position, keys[child], at[child], descending):
            break
        keys[parent] = keys[child]
        at[parent] = at[child]
        parent = child
    keys[parent] = key
    at[parent] = position


cdef void quick_select(Key* keys, int64_t* at, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    # puts what belongs at place k of the ascending order there (C. A. R. Hoare, Algorithm 65: Find, 1961); sorts where pivots keep being bad
    cdef Py_ssize_t low = 0, high = n - 1, i, j, rounds = 0
    cdef Key pivot, other
    while high > low:
        rounds += 1
        if rounds > 64:
            merge_sort(keys, at, keys + n, at + n, n, False)
            return
        pivot = keys[low + (high - low) // 2]
        if before(keys[high], keys[low], False) != before(keys[high], pivot, False):
            other = keys[high]
        elif before(keys[low], pivot, False) != before(keys[low], keys[high], False):
            other = keys[low]
        else:
            other = pivot
        pivot = other                      # the middle one of three
        i = low
        j = high
        while i <= j:
            while before(keys[i], pivot, False):
                i += 1
            while before(pivot, keys[j], False):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                at[i], at[j] = at[j], at[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


cdef Py_ssize_t lane(Key* keys, int64_t* at, Py_ssize_t n, Pick pick, Py_ssize_t count, bint descending) noexcept nogil:
    # orders one lane as far as needed; the place of the first result
    cdef Py_ssize_t i, numbers = n
    if Key is float or Key is double:
        if pick == PICK_MEDIAN:
            for i in range(n):
                if keys[i] != keys[i]:
                    return i
        elif pick == PICK_NANMEDIAN:
            for i in range(n):
                if keys[i] != keys[i]:
                    numbers -= 1
            if numbers == 0:
                return 0
    if pick == PICK_FIRST and n > 64 and count <= n // 8:
        if count > 0:
            heap_select(keys, at, n, count, descending)
            merge_sort(keys, at, keys + n, at + n, count, descending)
        return 0
    if pick == PICK_FIRST:
        merge_sort(keys, at, keys + n, at + n, n, descending)
        return 0
    i = count - 1 if pick == PICK_KTH else (numbers - 1) // 2
    quick_select(keys, at, n, i)
    return i


cdef void lanes(Key* keys, int64_t* at, Array* a, int d, Array* values, Array* places, Py_ssize_t n, Py_ssize_t results, Pick pick, Py_ssize_t count, bint descending) noexcept nogil:
    # a and the results have the same dims but for the size of d, which is n and `results`; values and places are contiguous
    cdef Py_ssize_t coordinate[MAX_DIMS]
    cdef Py_ssize_t steps[MAX_DIMS]         # of the results, in elements
    cdef const char* source = a.data
    cdef Key* value = <Key*>values.data
    cdef int64_t* place = <int64_t*>places.data
    cdef Py_ssize_t i, first, step = 1
    cdef Py_ssize_t stride = a.strides[d] if a.ndim > 0 else 0
    cdef int k
    for k in range(a.ndim - 1, -1, -1):
        coordinate[k] = 0
        steps[k] = step
        step *= results if k == d else a.shape[k]
    step = steps[d] if a.ndim > 0 else 1
    while True:
        for i in range(n):
            keys[i] = (<const Key*>(source + i * stride))[0]
            at[i] = i
        first = lane(keys, at, n, pick, count, descending)
        for i in range(results):
            value[i * step] = keys[first + i]
            place[i * step] = at[first + i]
        k = a.ndim - 1
        while k >= 0:
            if k != d:
                coordinate[k] += 1
                source += a.strides[k]
                value += steps[k]
                place += steps[k]
                if coordinate[k] < a.shape[k]:
                    break
                source -= coordinate[k] * a.strides[k]
                value -= coordinate[k] * steps[k]
                place -= coordinate[k] * steps[k]
                coordinate[k] = 0
            k -= 1
        if k < 0:
            return


cdef int run(Array* a, int d, Array* values, Array* places, Py_ssize_t n, Py_ssize_t results, Pick pick, Py_ssize_t count, bint descending) noexcept nogil:
    cdef int item = ITEMSIZE[a.dtype]
    cdef size_t room = <size_t>n * 2 * (sizeof(int64_t) + item)
    cdef char* block
    cdef int64_t* at
    cdef char* keys
    if values.numel == 0:
        return 0
    block = <char*>block_alloc(room)
    if block == NULL:
        return -1
    at = <int64_t*>block
    keys = block + n * 2 * sizeof(int64_t)
    if a.dtype == FLOAT32:
        lanes[float](<float*>keys, at, a, d, values, places, n, results, pick, count, descending)
    elif a.dtype == FLOAT64:
        lanes[double](<double*>keys, at, a, d, values, places, n, results, pick, count, descending)
    elif a.dtype == INT64:
        lanes[int64_t](<int64_t*>keys, at, a, d, values, places, n, results, pick, count, descending)
    elif a.dtype == INT32:
        lanes[int32_t](<int32_t*>keys, at, a, d, values, places, n, results, pick, count, descending)
    elif a.dtype == INT16:
        lanes[int16_t](<int16_t*>keys, at, a, d, values, places, n, results, pick, count, descending)
    elif a.dtype == INT8:
        lanes[int8_t](<int8_t*>keys, at, a, d, values, places, n, results, pick, count, descending)
    else:
        lanes[uint8_t](<uint8_t*>keys, at, a, d, values, places, n, results, pick, count, descending)
    block_free(block, room)
    return 0


cdef int ordered(Array* a, int d, Py_ssize_t results, bint keep, Pick pick, Py_ssize_t count, bint descending, Array** outs) noexcept nogil:
    # results elements along d (keep False: one, without the dim)
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Array* work
    cdef Array* values
    cdef Array* narrow
    cdef Array* places
    cdef int k, ndim = 0
    for k in range(a.ndim):
        if k != d:
            shape[ndim] = a.shape[k]
            ndim += 1
        elif keep:
            shape[ndim] = results
            ndim += 1
    outs[0] = outs[1] = NULL
    work = cast(a, FLOAT32) if a.dtype == FLOAT16 else array_incref(a)
    if work == NULL:
        return -1
    values = array_empty(work.dtype, ndim, shape)
    places = array_empty(INT64, ndim, shape)
    k = -1
    if values != NULL and places != NULL:
        k = run(work, d, values, places, a.shape[d] if a.ndim > 0 else 1, results, pick, count, descending)
    if k == 0 and a.dtype == FLOAT16:
        narrow = cast(values, FLOAT16)
        array_decref(values)
        values = narrow
        if values == NULL:
            k = -1
    array_decref(work)
    if k < 0:
        array_decref(values)
        array_decref(places)
        return -1
    outs[0] = values
    outs[1] = places
    return 0


cdef int sort(Array* a, Py_ssize_t dim, bint descending, Array** outs) noexcept nogil:
    cdef int d
    if a == NULL:
        return -1
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    if is_complex_code(a.dtype):
        return fail(ERR_RUNTIME, "sort(): Sort does not support complex dtypes on CPU, since complex numbers have no order; sort by .abs() or .real")
    return ordered(a, d, a.shape[d] if a.ndim > 0 else 1, True, PICK_FIRST, a.shape[d] if a.ndim > 0 else 1, descending, outs)


cdef Array* argsort(Array* a, Py_ssize_t dim, bint descending) noexcept nogil:
    cdef Array* outs[2]
    if sort(a, dim, descending, outs) < 0:
        return NULL
    array_decref(outs[0])
    return outs[1]


cdef int topk(Array* a, Py_ssize_t k, Py_ssize_t dim, bint largest, Array** outs) noexcept nogil:
    cdef int d
    if a == NULL:
        return -1
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    if k < 0 or k > (a.shape[d] if a.ndim > 0 else 1):
        return fail_i(ERR_RUNTIME, "topk(): selected index k out of range: k is %ld, and dimension %ld has size %ld", k, d, a.shape[d] if a.ndim > 0 else 1)
    if is_complex_code(a.dtype) or a.dtype == BOOL:
        return fail_s(ERR_RUNTIME, "topk(): topk does not support %s dtypes on CPU; convert it first", "bool" if a.dtype == BOOL else "complex", NULL, NULL)
    return ordered(a, d, k if a.ndim > 0 else 1, True, PICK_FIRST, k if a.ndim > 0 else 1, largest, outs)


cdef int pick_one(const char* operation, Array* a, Py_ssize_t dim, Pick pick, Py_ssize_t k, bint keepdim, Array** outs) noexcept nogil:
    cdef int d
    cdef Py_ssize_t size
    if a == NULL:
        return -1
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    size = a.shape[d] if a.ndim > 0 else 1
    if size == 0:
        return fail_s(ERR_INDEX, "%s(): Expected reduction dim to have non-zero size; an empty lane has no such element", operation, NULL, NULL)
    if pick == PICK_KTH and (k < 1 or k > size):
        return fail_i(ERR_RUNTIME, "kthvalue(): selected number k out of range for dimension %ld: k is %ld, and the size is %ld", d, k, size)
    if is_complex_code(a.dtype) or a.dtype == BOOL:
        return fail_s(ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'; convert it first", operation, dtype_cname(a.dtype), NULL)
    return ordered(a, d, 1, keepdim, pick, k, False, outs)


cdef int kthvalue(Array* a, Py_ssize_t k, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil:
    return pick_one("kthvalue", a, dim, PICK_KTH, k, keepdim, outs)


cdef int median_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil:
    return pick_one("median", a, dim, PICK_MEDIAN, 0, keepdim, outs)


cdef int nanmedian_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil:
    return pick_one("nanmedian", a, dim, PICK_NANMEDIAN, 0, keepdim, outs)


cdef Array* median_all(const char* operation, Array* a, Pick pick) noexcept nogil:
    cdef Array* outs[2]
    cdef Array* flat
    cdef IntList sizes
    cdef int status
    if a == NULL:
        return NULL
    if a.numel == 0 and is_float_code(a.dtype):
        return not_a_number(a.dtype)
    sizes.n = 1
    sizes.v[0] = a.numel
    flat = reshape(a, &sizes)
    status = pick_one(operation, flat, 0, pick, 0, False, outs)
    array_decref(flat)
    if status < 0:
        return NULL
    array_decref(outs[1])
    return outs[0]


cdef Array* not_a_number(int dtype) noexcept nogil:
    cdef Array* number = array_empty(FLOAT64, 0, NULL)
    cdef Array* result
    cdef double zero = 0.0
    if number == NULL:
        return NULL
    (<double*>number.data)[0] = zero / zero
    result = cast(number, dtype)
    array_decref(number)
    return result


cdef Array* median(Array* a) noexcept nogil:
    return median_all("median", a, PICK_MEDIAN)


cdef Array* nanmedian(Array* a) noexcept nogil:
    return median_all("nanmedian", a, PICK_NANMEDIAN)
