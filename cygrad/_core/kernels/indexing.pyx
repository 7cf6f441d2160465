# Indexing with tensors. Contract: indexing.pxd.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, memset
from cygrad._core.atomics cimport unlikely
from cygrad._core.array cimport (
    Array, IntList, MAX_DIMS, CONTIGUOUS, WRAPPED, array_empty, array_empty_ordered, array_zeros, array_view, array_incref, array_decref, dims_sort, shape_text)
from cygrad._core.memory cimport block_alloc, block_free
from cygrad._core.dtypes cimport ITEMSIZE, BOOL, UINT8, INT32, INT64, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, dtype_cname
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_RUNTIME, ERR_INDEX
from cygrad._core.kernels.copy cimport cast, contiguous, clone, convert_element, copy_into, check_value, memory_overlaps
from cygrad._core.kernels.masks cimport true_columns
from cygrad._core.kernels.shape cimport expand
from cygrad._core.kernels.strided cimport Pair, Bits, Addend, Block, block_init, block_copy, block_add


# ---- plans ----------------------------------------------------------------------------------------------------------


cdef int fail_mask(Array* mask, int ndim, const Py_ssize_t* shape, int at) noexcept nogil:
    cdef char have[200]
    cdef char want[200]
    cdef char text[600]
    shape_text(have, sizeof(have), mask.ndim, mask.shape)
    shape_text(want, sizeof(want), ndim, shape)
    snprintf(text, sizeof(text), "indexing: The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d; "
             "a mask must have the sizes of the dimensions it stands for", have, at, want, at)
    return fail(ERR_INDEX, text)


cdef int fail_index_shapes(Array** each, int ndim) noexcept nogil:
    cdef char text[700]
    cdef char one[120]
    cdef int at, d, room = <int>sizeof(text)
    cdef bint first = True
    at = snprintf(text, room, "shape mismatch: indexing tensors could not be broadcast together with shapes ")
    for d in range(ndim):
        if each[d] != NULL and at < room - 130:
            shape_text(one, sizeof(one), each[d].ndim, each[d].shape)
            at += snprintf(text + at, room - at, "%s%s", <const char*>("" if first else ", "), one)
            first = False
    return fail(ERR_INDEX, text)


cdef int fail_bounds(Py_ssize_t index, int dim, Py_ssize_t size) noexcept nogil:
    if size == 0:
        return fail_i(ERR_INDEX, "index is out of bounds for dimension with size 0: index %ld for dimension %ld", index, dim, 0)
    return fail_i(ERR_INDEX, "index %ld is out of bounds for dimension %ld with size %ld", index, dim, size)


cdef int expand_indices(int ndim, const Py_ssize_t* shape, Array** indices, int n, Array** each) noexcept nogil:
    # One int64 Array (new reference) or NULL for every dim, masks turned into positions. -1: error; what is in `each` is dropped by the caller then too.
    cdef int k, d = 0, j
    cdef Array* x
    cdef Array* places
    for k in range(ndim):
        each[k] = NULL
    for k in range(n):
        x = indices[k]
        if x != NULL and (x.dtype == BOOL or x.dtype == UINT8):
            if d + x.ndim > ndim:
                return fail_i(ERR_INDEX, "too many indices for tensor of dimension %ld", ndim, 0, 0)
            for j in range(x.ndim):
                if x.shape[j] != shape[d + j]:
                    return fail_mask(x, ndim, shape, d + j)
            places = true_columns(x)
            if places == NULL:
                return -1
            for j in range(x.ndim):
                each[d + j] = array_view(places, INT64, places.data + j * places.strides[0], 1, places.shape + 1, places.strides + 1)
                if each[d + j] == NULL:
                    break
            array_decref(places)
            if x.ndim > 0 and each[d + x.ndim - 1] == NULL:
                return -1
            d += x.ndim
            continue
        if d >= ndim:
            return fail_i(ERR_INDEX, "too many indices for tensor of dimension %ld", ndim, 0, 0)
        if x != NULL:
            if x.dtype == INT64:
                each[d] = array_incref(x)
            elif x.dtype == INT32:
                each[d] = cast(x, INT64)
                if each[d] == NULL:
                    return -1
            else:
                return fail_s(ERR_INDEX, "tensors used as indices must be long, int, byte or bool tensors, and this one is %s; convert it with .long()", dtype_cname(x.dtype), NULL, NULL)
        d += 1
    return 0


cdef int add_offsets(Plan* p, Array* x, int dim, Py_ssize_t size, Py_ssize_t stride, bint first) noexcept nogil:
    # x: positions of one dim, of the broadcast shape or one element; adds position * stride to each offset
    cdef const int64_t* v = <const int64_t*>x.data
    cdef Py_ssize_t* offsets = p.offsets
    cdef Py_ssize_t i, k
    if x.numel == 1 and p.count != 1:
        k = v[0]
        if unlikely(k < -size or k >= size):
            return fail_bounds(k, dim, size)
        k = (k + size if k < 0 else k) * stride
        for i in range(p.count):
            offsets[i] = k if first else offsets[i] + k
        return 0
    for i in range(p.count):
        k = v[i]
        if unlikely(k < -size or k >= size):
            return fail_bounds(k, dim, size)
        k = (k + size if k < 0 else k) * stride
        offsets[i] = k if first else offsets[i] + k
    return 0


cdef int plan_offsets(Plan* p) noexcept nogil:
    if p.count <= 16:
        p.offsets = p.small
        return 0
    p.offsets = <Py_ssize_t*>block_alloc(p.count * sizeof(Py_ssize_t))
    return 0 if p.offsets != NULL else -1


cdef void plan_free(Plan* p) noexcept nogil:
    if p.offsets != p.small and p.offsets != NULL:
        block_free(p.offsets, p.count * sizeof(Py_ssize_t))
    p.offsets = NULL


cdef int plan_layout(Plan* p, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, Array** each, int n_positions, const Py_ssize_t* positions) noexcept nogil:
    # shape of the result and steps of the dims taken whole
    cdef int d, first = -1, last = -1, given = 0, n = 0
    cdef bint adjacent
    for d in range(ndim):
        if each[d] != NULL:
            first = d if first < 0 else first
            last = d
            given += 1
    adjacent = given > 0 and last - first + 1 == given
    if ndim - given + n_positions > MAX_DIMS:
        return fail_i(ERR_RUNTIME, "indexing: the result would have %ld dimensions; at most %ld are possible", ndim - given + n_positions, MAX_DIMS, 0)
    p.n_pre = first if adjacent else 0
    p.n_positions = n_positions
    for d in range(p.n_pre):
        p.shape[n] = shape[d]
        p.steps[n] = strides[d]
        n += 1
    p.count = 1
    for d in range(n_positions):
        p.shape[n] = positions[d]
        p.steps[n] = 0
        p.count *= positions[d]
        n += 1
    for d in range(p.n_pre, ndim):
        if each[d] == NULL:
            p.shape[n] = shape[d]
            p.steps[n] = strides[d]
            n += 1
    p.ndim = n
    return 0


cdef bint plan_empty(Plan* p) noexcept nogil:
    cdef int d
    for d in range(p.ndim):
        if p.shape[d] == 0:
            return True
    return False


cdef int plan_each(Plan* p, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, Array** each) noexcept nogil:
    cdef IntList common
    cdef int d, i, k
    cdef bint first = True
    cdef Array* x
    cdef Array* wide
    cdef Array* dense
    cdef bint fits, empty
    common.n = 0
    for d in range(ndim):
        x = each[d]
        if x != NULL and x.ndim > common.n:
            common.n = x.ndim
    for i in range(common.n):
        common.v[i] = 1
    for d in range(ndim):
        x = each[d]
        if x == NULL:
            continue
        for i in range(x.ndim):
            k = common.n - x.ndim + i
            if common.v[k] == 1:
                common.v[k] = x.shape[i]
            elif x.shape[i] != 1 and x.shape[i] != common.v[k]:
                return fail_index_shapes(each, ndim)
    if plan_layout(p, ndim, shape, strides, each, common.n, common.v) < 0 or plan_offsets(p) < 0:
        return -1
    empty = plan_empty(p)        # then nothing is read, and as in torch only a dim without any place is noticed
    for d in range(ndim):
        x = each[d]
        if x == NULL:
            continue
        if empty:
            first = False
            if p.count > 0 and shape[d] == 0:
                plan_free(p)
                return fail_bounds(0, d, 0)
            continue
        wide = dense = NULL
        fits = x.ndim == common.n and x.flags & CONTIGUOUS != 0
        if fits:
            for i in range(x.ndim):
                if x.shape[i] != common.v[i]:
                    fits = False
        if not fits and x.numel != 1:
            wide = expand(x, &common)
            dense = contiguous(wide)
            if dense == NULL:
                array_decref(wide)
                plan_free(p)
                return -1
            x = dense
        i = add_offsets(p, x, d, shape[d], strides[d], first)
        first = False
        array_decref(wide)
        array_decref(dense)
        if i < 0:
            plan_free(p)
            return -1
    if first:
        p.offsets[0] = 0
    return 0


cdef int plan_init(Plan* p, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, Array** indices, int n) noexcept nogil:
    cdef Array* each[MAX_DIMS]
    cdef int d, status
    p.offsets = NULL
    status = expand_indices(ndim, shape, indices, n, each)
    if status == 0:
        status = plan_each(p, ndim, shape, strides, each)
    for d in range(ndim):
        array_decref(each[d])
    return status


cdef int plan_dim(Plan* p, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int dim, Array* positions) noexcept nogil:
    cdef Array* each[MAX_DIMS]
    cdef const int64_t* v = <const int64_t*>positions.data
    cdef Py_ssize_t i, stride = strides[dim], size = shape[dim]
    cdef int d
    p.offsets = NULL
    for d in range(ndim):
        each[d] = NULL
    each[dim] = positions
    if plan_layout(p, ndim, shape, strides, each, 1, &positions.numel) < 0 or plan_offsets(p) < 0:
        return -1
    for i in range(p.count):
        p.offsets[i] = (v[i] + size if v[i] < 0 else v[i]) * stride
    return 0


cdef inline void read_elements(Bits* to, Py_ssize_t count, const Py_ssize_t* offsets, const char* source) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[i] = (<const Bits*>(source + offsets[i]))[0]


cdef inline bint next_place(Plan* p, Py_ssize_t* at, const char** a, const Py_ssize_t* steps_a, const char** b, const Py_ssize_t* steps_b) noexcept nogil:
    # moves both pointers to the next place over the pre dims; False after the last
    cdef int d = p.n_pre - 1
    while d >= 0:
        at[d] += 1
        a[0] += steps_a[d]
        b[0] += steps_b[d]
        if at[d] < p.shape[d]:
            return True
        a[0] -= at[d] * steps_a[d]
        b[0] -= at[d] * steps_b[d]
        at[d] = 0
        d -= 1
    return False


cdef void plan_read(Plan* p, int itemsize, const char* source, char* result) noexcept nogil:
    cdef Py_ssize_t at[MAX_DIMS]
    cdef Py_ssize_t dense[MAX_DIMS]
    cdef Block block
    cdef int d, post = p.n_pre + p.n_positions
    cdef Py_ssize_t i, step = itemsize
    cdef const char* nothing = NULL
    if plan_empty(p):
        return
    for d in range(p.ndim - 1, post - 1, -1):
        dense[d] = step
        step *= p.shape[d]
    block_init(&block, itemsize, p.ndim - post, p.shape + post, dense + post, p.steps + post)
    memset(at, 0, p.n_pre * sizeof(Py_ssize_t))
    for d in range(p.n_pre):
        dense[d] = 0
    while True:
        if block.nbytes == <size_t>itemsize:
            if itemsize == 8:
                read_elements[uint64_t](<uint64_t*>result, p.count, p.offsets, source)
            elif itemsize == 4:
                read_elements[uint32_t](<uint32_t*>result, p.count, p.offsets, source)
            elif itemsize == 16:
                read_elements[Pair](<Pair*>result, p.count, p.offsets, source)
            elif itemsize == 2:
                read_elements[uint16_t](<uint16_t*>result, p.count, p.offsets, source)
            else:
                read_elements[uint8_t](<uint8_t*>result, p.count, p.offsets, source)
            result += p.count * itemsize
        else:
            for i in range(p.count):
                block_copy(&block, result, source + p.offsets[i])
                result += block.nbytes
        if not next_place(p, at, &source, p.steps, &nothing, dense):
            return


cdef inline void write_elements(Bits* unused, Py_ssize_t count, const Py_ssize_t* offsets, char* target, const char* values, Py_ssize_t step, const Py_ssize_t* table) noexcept nogil:
    cdef Py_ssize_t i
    if table != NULL:
        for i in range(count):
            (<Bits*>(target + offsets[i]))[0] = (<const Bits*>(values + table[i]))[0]
    else:
        for i in range(count):
            (<Bits*>(target + offsets[i]))[0] = (<const Bits*>(values + i * step))[0]


cdef inline void add_elements(Addend* unused, int width, Py_ssize_t count, const Py_ssize_t* offsets, char* target, const char* values, Py_ssize_t step, const Py_ssize_t* table) noexcept nogil:
    cdef Py_ssize_t i
    cdef Addend* to
    cdef const Addend* source
    for i in range(count):
        to = <Addend*>(target + offsets[i])
        source = <const Addend*>(values + (table[i] if table != NULL else i * step))
        to[0] = to[0] + source[0]
        if width == 2:
            to[1] = to[1] + source[1]


cdef int plan_write(Plan* p, int dtype, char* target, const char* values, const Py_ssize_t* strides, bint add) noexcept nogil:
    cdef Py_ssize_t at[MAX_DIMS]
    cdef Py_ssize_t* table = NULL
    cdef Block block
    cdef int d, k, itemsize = ITEMSIZE[dtype], post = p.n_pre + p.n_positions
    cdef Py_ssize_t i, j, rest, step = 0, extent = 1
    cdef bint regular = True, single
    cdef const char* to = target
    if plan_empty(p):
        return 0
    # values over the positions: one step from each to the next, or a table
    for d in range(post - 1, p.n_pre - 1, -1):
        if p.shape[d] == 1:
            continue
        if extent == 1:
            step = strides[d]
        elif strides[d] != step * extent:
            regular = False
        extent *= p.shape[d]
    if not regular:
        table = <Py_ssize_t*>block_alloc(p.count * sizeof(Py_ssize_t))
        if table == NULL:
            return -1
        for i in range(p.count):
            rest = i
            j = 0
            for d in range(post - 1, p.n_pre - 1, -1):
                j += rest % p.shape[d] * strides[d]
                rest //= p.shape[d]
            table[i] = j
    block_init(&block, itemsize, p.ndim - post, p.shape + post, p.steps + post, strides + post)
    single = block.nbytes == <size_t>itemsize
    memset(at, 0, p.n_pre * sizeof(Py_ssize_t))
    while True:
        if add:
            if single and dtype == FLOAT32:
                add_elements[float](NULL, 1, p.count, p.offsets, <char*>to, values, step, table)
            elif single and dtype == FLOAT64:
                add_elements[double](NULL, 1, p.count, p.offsets, <char*>to, values, step, table)
            elif single and dtype == INT64:
                add_elements[uint64_t](NULL, 1, p.count, p.offsets, <char*>to, values, step, table)
            elif single and dtype == COMPLEX64:
                add_elements[float](NULL, 2, p.count, p.offsets, <char*>to, values, step, table)
            elif single and dtype == COMPLEX128:
                add_elements[double](NULL, 2, p.count, p.offsets, <char*>to, values, step, table)
            else:
                for i in range(p.count):
                    block_add(&block, dtype, <char*>to + p.offsets[i], values + (table[i] if table != NULL else i * step))
        elif single:
            if itemsize == 8:
                write_elements[uint64_t](NULL, p.count, p.offsets, <char*>to, values, step, table)
            elif itemsize == 4:
                write_elements[uint32_t](NULL, p.count, p.offsets, <char*>to, values, step, table)
            elif itemsize == 16:
                write_elements[Pair](NULL, p.count, p.offsets, <char*>to, values, step, table)
            elif itemsize == 2:
                write_elements[uint16_t](NULL, p.count, p.offsets, <char*>to, values, step, table)
            else:
                write_elements[uint8_t](NULL, p.count, p.offsets, <char*>to, values, step, table)
        else:
            for i in range(p.count):
                block_copy(&block, <char*>to + p.offsets[i], values + (table[i] if table != NULL else i * step))
        if not next_place(p, at, &to, p.steps, &values, strides):
            break
    block_free(table, p.count * sizeof(Py_ssize_t))
    return 0


# ---- index ----------------------------------------------------------------------------------------------------------


cdef bint plan_order(Plan* p, Array** indices, int n, int* order) noexcept nogil:
    # The order of the result's dims in memory, torch's: that of the source's dims, and of the positions' in the index tensors.
    cdef Py_ssize_t strides[MAX_DIMS][MAX_DIMS]
    cdef const Py_ssize_t* each[MAX_DIMS]
    cdef Array* x
    cdef int k, d, at, count = 1
    cdef Py_ssize_t before, after
    each[0] = p.steps
    for k in range(n):
        x = indices[k]
        if x == NULL or count == MAX_DIMS:
            continue
        memset(strides[count], 0, p.ndim * sizeof(Py_ssize_t))
        before = after = 8           # steps over the dims of size 1 that a view of the index with the result's dims has
        if x.dtype == BOOL or x.dtype == UINT8:
            if p.n_positions > 0:
                after = strides[count][p.n_pre + p.n_positions - 1] = x.ndim * 8
                before = after * p.shape[p.n_pre + p.n_positions - 1]
        elif x.ndim > 0:
            before = x.shape[0] * x.strides[0]
            after = x.strides[x.ndim - 1]
            for d in range(x.ndim):
                at = p.n_pre + p.n_positions - x.ndim + d
                strides[count][at] = 0 if x.shape[d] == 1 and p.shape[at] != 1 else x.strides[d]
        for d in range(p.ndim):
            if p.shape[d] == 1 and not p.n_pre <= d < p.n_pre + p.n_positions:
                strides[count][d] = before if d < p.n_pre else after
        each[count] = strides[count]
        count += 1
    return dims_sort(p.ndim, p.shape, count, each, order)


cdef bint plan_permute(Plan* p, const int* order) noexcept nogil:
    # The plan that writes the result's dims in that order, if the positions stay together in it.
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef int d, k, first = -1, n_pre = p.n_pre
    for k in range(p.ndim):
        d = order[p.ndim - 1 - k]
        shape[k] = p.shape[d]
        steps[k] = p.steps[d]
        if n_pre <= d < n_pre + p.n_positions:
            if first < 0:
                first = k
            if d - n_pre != k - first:
                return False
    if first >= 0:
        p.n_pre = first
    memcpy(p.shape, shape, p.ndim * sizeof(Py_ssize_t))
    memcpy(p.steps, steps, p.ndim * sizeof(Py_ssize_t))
    return True


cdef bint in_order(Array* a, Array** indices, int n) noexcept nogil:
    # the usual case: the dims of the result come as they do
    cdef int k
    if not a.flags & CONTIGUOUS:
        return False
    for k in range(n):
        if indices[k] != NULL and indices[k].ndim > 1 and not indices[k].flags & CONTIGUOUS:
            return False
    return True


cdef Array* index(Array* a, Array** indices, int n) noexcept nogil:
    cdef Plan p
    cdef Array* result
    cdef Array* plain
    cdef int order[MAX_DIMS]
    if a == NULL or plan_init(&p, a.ndim, a.shape, a.strides, indices, n) < 0:
        return NULL
    if in_order(a, indices, n) or not plan_order(&p, indices, n, order):
        result = array_empty(a.dtype, p.ndim, p.shape)
        if result != NULL:
            plan_read(&p, ITEMSIZE[a.dtype], a.data, result.data)
    else:
        result = array_empty_ordered(a.dtype, p.ndim, p.shape, order)
        if result != NULL and plan_permute(&p, order):
            plan_read(&p, ITEMSIZE[a.dtype], a.data, result.data)
        elif result != NULL:
            plain = array_empty(a.dtype, p.ndim, p.shape)
            if plain != NULL:
                plan_read(&p, ITEMSIZE[a.dtype], a.data, plain.data)
            if plain == NULL or copy_into(result, plain) != 0:
                array_decref(result)
                result = NULL
            array_decref(plain)
    plan_free(&p)
    return result


cdef Array* index_region(Array* a, Array** indices, int n) noexcept nogil:
    cdef Plan p
    cdef Array* result
    if a == NULL or plan_init(&p, a.ndim, a.shape, a.strides, indices, n) < 0:
        return NULL
    memset(p.steps, 0, sizeof(p.steps))
    result = array_view(a, a.dtype, a.data, p.ndim, p.shape, p.steps)
    plan_free(&p)
    return result


cdef int value_strides(Array* values, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil:
    # strides with which values broadcasts to shape, or -1
    cdef int d, k
    cdef char have[200]
    cdef char want[200]
    if values.ndim > ndim:
        d = -1
    else:
        for d in range(ndim - 1, -1, -1):
            k = d - ndim + values.ndim
            if k < 0 or (values.shape[k] == 1 and shape[d] != 1):
                strides[d] = 0
            elif values.shape[k] == shape[d]:
                strides[d] = values.strides[k]
            else:
                break
        else:
            return 0
    shape_text(have, sizeof(have), values.ndim, values.shape)
    shape_text(want, sizeof(want), ndim, shape)
    return fail_s(ERR_RUNTIME, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s", have, want, NULL)


cdef bint one_mask(Array** indices, int n) noexcept nogil:
    # torch writes one element through one mask as masked_fill does, which casts
    cdef int k, masks = 0
    for k in range(n):
        if indices[k] != NULL:
            if indices[k].dtype != BOOL:
                return False
            masks += 1
    return masks == 1


cdef int index_put_(Array* target, Array** indices, int n, Array* values, bint accumulate) noexcept nogil:
    cdef Plan p
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef char number[16]
    cdef Array* copy = NULL
    cdef const char* data = number
    cdef int status
    if target == NULL:
        return -1
    if values != NULL and values.dtype != target.dtype and not values.flags & WRAPPED and not (values.numel == 1 and not accumulate and one_mask(indices, n)):
        return fail_s(ERR_RUNTIME, "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source; cast the source",
                      dtype_cname(target.dtype), dtype_cname(values.dtype), NULL)
    if plan_init(&p, target.ndim, target.shape, target.strides, indices, n) < 0:
        return -1
    if values == NULL:
        memset(number, 0, 16)
        memset(strides, 0, sizeof(strides))
        status = 0
    else:
        status = value_strides(values, p.ndim, p.shape, strides)
        if status == 0:
            if values.dtype != target.dtype:
                status = check_value(values, target.dtype)
                convert_element(values.dtype, values.data, target.dtype, number)
            elif memory_overlaps(target, values):
                copy = clone(values)
                status = value_strides(copy, p.ndim, p.shape, strides) if copy != NULL else -1
                data = copy.data if copy != NULL else NULL
            else:
                data = values.data
    if status == 0:
        status = plan_write(&p, target.dtype, target.data, data, strides, accumulate)
    array_decref(copy)
    plan_free(&p)
    return status


cdef Array* index_put(Array* a, Array** indices, int n, Array* values, bint accumulate) noexcept nogil:
    cdef Array* result
    if a == NULL:
        return NULL
    result = clone(a)
    if result != NULL and index_put_(result, indices, n, values, accumulate) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* index_backward(Array* grad, const IntList* sizes, Array** indices, int n) noexcept nogil:
    cdef Array* result
    if grad == NULL:
        return NULL
    result = array_zeros(grad.dtype, sizes.n, sizes.v)
    if result != NULL and index_put_(result, indices, n, grad, True) < 0:
        array_decref(result)
        return NULL
    return result


# ---- positions in the flattened Array -------------------------------------------------------------------------------

cdef Array* flattened(Array* a) noexcept nogil:
    # one dim; the same memory where a is contiguous
    cdef Array* dense = contiguous(a)
    cdef Array* flat = NULL
    cdef Py_ssize_t step
    if dense != NULL:
        step = ITEMSIZE[a.dtype]
        flat = array_view(dense, a.dtype, dense.data, 1, &a.numel, &step)
    array_decref(dense)
    return flat


cdef Array* take(Array* a, Array* index_) noexcept nogil:
    cdef Array* flat
    cdef Array* result = NULL
    if a == NULL or index_ == NULL:
        return NULL
    if index_.dtype != INT64:
        fail_s(ERR_RUNTIME, "take(): Expected a long tensor for index, but got %s; convert it with .long()", dtype_cname(index_.dtype), NULL, NULL)
        return NULL
    if a.numel == 0 and index_.numel != 0:
        fail(ERR_INDEX, "take(): tried to take from an empty tensor")
        return NULL
    flat = flattened(a)
    if flat != NULL:
        result = index(flat, &index_, 1)
    array_decref(flat)
    return result


cdef Array* take_backward(Array* grad, const IntList* sizes, Array* index_) noexcept nogil:
    cdef Array* zeros
    if grad == NULL or index_ == NULL:
        return NULL
    zeros = array_zeros(grad.dtype, sizes.n, sizes.v)
    if zeros != NULL and put_(zeros, index_, grad, True) != 0:
        array_decref(zeros)
        return NULL
    return zeros


cdef int put_(Array* target, Array* index_, Array* source, bint accumulate) noexcept nogil:
    cdef Array* flat
    cdef Array* places
    cdef Array* values
    cdef int status = -1
    if target == NULL or index_ == NULL or source == NULL:
        return -1
    if index_.dtype != INT64:
        return fail_s(ERR_RUNTIME, "put_(): Expected a long tensor for index, but got %s; convert it with .long()", dtype_cname(index_.dtype), NULL, NULL)
    if source.dtype != target.dtype:
        return fail_s(ERR_RUNTIME, "put_(): self and source expected to have the same dtype, but got self.dtype = %s and source.dtype = %s; cast the source",
                      dtype_cname(target.dtype), dtype_cname(source.dtype), NULL)
    if source.numel != index_.numel:
        return fail_i(ERR_INDEX, "put_(): Expected source and index to have the same number of elements, but got source.numel() = %ld, index.numel() = %ld",
                      source.numel, index_.numel, 0)
    if target.numel == 0 and index_.numel != 0:
        return fail(ERR_INDEX, "put_(): Tried to put elements into an empty tensor")
    if index_.numel == 0:
        return 0
    flat = flattened(target)
    places = flattened(index_)
    values = flattened(source)
    if flat != NULL and places != NULL and values != NULL:
        status = index_put_(flat, &places, 1, values, accumulate)
    if status == 0 and flat.storage != target.storage:
        status = copy_flat(target, flat)
    array_decref(flat)
    array_decref(places)
    array_decref(values)
    return status


cdef int copy_flat(Array* target, Array* flat) noexcept nogil:
    # elements in C order into a target of any strides
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Py_ssize_t step = ITEMSIZE[target.dtype]
    cdef Array* shaped
    cdef int d, status
    for d in range(target.ndim - 1, -1, -1):
        strides[d] = step
        step *= target.shape[d]
    shaped = array_view(flat, flat.dtype, flat.data, target.ndim, target.shape, strides)
    status = copy_into(target, shaped) if shaped != NULL else -1
    array_decref(shaped)
    return status


cdef Array* put(Array* a, Array* index_, Array* source, bint accumulate) noexcept nogil:
    cdef Array* copy
    if a == NULL:
        return NULL
    copy = clone(a)
    if copy != NULL and put_(copy, index_, source, accumulate) != 0:
        array_decref(copy)
        return NULL
    return copy
