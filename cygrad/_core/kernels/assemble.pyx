# Arrays from pieces of others. Contract: assemble.pxd.

from libc.stdio cimport snprintf
from libc.string cimport memcpy
from cygrad._core.array cimport (
    Array, IntList, MAX_DIMS, array_empty, array_empty_like, array_zeros, array_view, array_decref, scalar_int, normalize_dim, same_shape, shape_text)
from cygrad._core.dtypes cimport ITEMSIZE, promote
from cygrad._core.errors cimport fail, fail_i, fail_s, fail_memory, ERR_RUNTIME, ERR_VALUE
from cygrad._core.kernels.copy cimport fill
from cygrad._core.kernels.slicing cimport diagonal as diagonal_view, diagonal_backward, split_view
from cygrad._core.kernels.strided cimport Block, block_init, block_copy, block_add, copy_run, view_copy


cdef inline bint left_out(Array* a) noexcept nogil:
    return a.ndim == 1 and a.shape[0] == 0


cdef int put(Array* result, char* data, const Py_ssize_t* shape, Array* piece, int ndim, const Py_ssize_t* strides) noexcept nogil:
    # piece into result at data; shape is piece's, seen with strides (both ndim)
    cdef Block block
    if piece.dtype != result.dtype:
        return view_copy(result, data, ndim, shape, strides, piece)
    block_init(&block, ITEMSIZE[piece.dtype], ndim, shape, strides, piece.strides)
    if block.nbytes:
        block_copy(&block, data, piece.data)
    return 0


cdef Array* fail_cat(Array* first, Array* other, int dim, int k) noexcept nogil:
    cdef char text[400]
    cdef int i
    if first.ndim != other.ndim:
        snprintf(text, sizeof(text), "cat(): Tensors must have same number of dimensions: got %d and %d (tensor number %d in the list)", <int>first.ndim, <int>other.ndim, k)
    else:
        i = 0
        while i == dim or first.shape[i] == other.shape[i]:
            i += 1
        snprintf(text, sizeof(text), "cat(): Sizes of tensors must match except in dimension %d. Expected size %ld but got size %ld in dimension %d for tensor number %d "
                 "in the list.", dim, <long>first.shape[i], <long>other.shape[i], i, k)
    fail(ERR_RUNTIME, text)
    return NULL


cdef Array* cat(Array** list, int n, Py_ssize_t dim) noexcept nogil:
    cdef Array* first = NULL
    cdef Array* result
    cdef Array* x
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t total = 0
    cdef char* data
    cdef int k, i, d, dtype
    if n == 0:
        fail(ERR_VALUE, "cat(): expected a non-empty list of Tensors")
        return NULL
    for k in range(n):
        if list[k] == NULL:
            return NULL
    dtype = list[0].dtype
    for k in range(n):
        x = list[k]
        if x.ndim == 0:
            fail_i(ERR_RUNTIME, "cat(): zero-dimensional tensor (at position %ld) cannot be concatenated; use stack, or unsqueeze it first", k, 0, 0)
            return NULL
        if x.dtype != dtype:
            dtype = promote(dtype, x.dtype)
        if first == NULL and not left_out(x):
            first = x
    if first == NULL:
        return array_empty(dtype, 1, &total)      # whatever dim says, as in torch
    d = normalize_dim(dim, first.ndim)
    if d < 0:
        return NULL
    for k in range(n):
        x = list[k]
        if left_out(x):
            continue
        if x.ndim != first.ndim:
            return fail_cat(first, x, d, k)
        for i in range(first.ndim):
            if i != d and x.shape[i] != first.shape[i]:
                return fail_cat(first, x, d, k)
        if x.shape[d] > (<Py_ssize_t>1 << 60) - total:
            fail_memory(<size_t>-1 >> 1)
            return NULL
        total += x.shape[d]
    for i in range(first.ndim):
        shape[i] = first.shape[i]
    shape[d] = total
    result = array_empty(dtype, first.ndim, shape)
    if result == NULL:
        return NULL
    data = result.data
    for k in range(n):
        x = list[k]
        if left_out(x):
            continue
        if put(result, data, x.shape, x, x.ndim, result.strides) < 0:
            array_decref(result)
            return NULL
        data += x.shape[d] * result.strides[d]
    return result


cdef int cat_backward(Array* grad, const IntList* lengths, Py_ssize_t dim, Array** outs) noexcept nogil:
    cdef Py_ssize_t start = 0, none = 0
    cdef int k
    if grad == NULL:
        return -1
    for k in range(lengths.n):
        if lengths.v[k] < 0:
            outs[k] = array_zeros(grad.dtype, 1, &none)
        else:
            outs[k] = split_view(grad, dim, start, lengths.v[k])
            start += lengths.v[k]
        if outs[k] == NULL:
            while k > 0:
                k -= 1
                array_decref(outs[k])
                outs[k] = NULL
            return -1
    return 0


cdef Array* stack_as(Array** list, int n, int d, int dtype, int ndim, const Py_ssize_t* one) noexcept nogil:
    # n pieces of shape `one` along the new dim d; NULL entries are zero
    cdef Array* result
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int i, k
    cdef bint holes = False
    for i in range(ndim):
        shape[i if i < d else i + 1] = one[i]
    shape[d] = n
    for k in range(n):
        if list[k] == NULL:
            holes = True
    result = array_zeros(dtype, ndim + 1, shape) if holes else array_empty(dtype, ndim + 1, shape)
    if result == NULL:
        return NULL
    for i in range(ndim):
        strides[i] = result.strides[i if i < d else i + 1]
    for k in range(n):
        if list[k] != NULL and put(result, result.data + k * result.strides[d], one, list[k], ndim, strides) < 0:
            array_decref(result)
            return NULL
    return result


cdef Array* stack(Array** list, int n, Py_ssize_t dim) noexcept nogil:
    cdef Array* first
    cdef char have[200]
    cdef char other[200]
    cdef char text[600]
    cdef int k, d, dtype
    if n == 0:
        fail(ERR_RUNTIME, "stack expects a non-empty TensorList, and the list has no tensor")
        return NULL
    for k in range(n):
        if list[k] == NULL:
            return NULL
    first = list[0]
    dtype = first.dtype
    d = normalize_dim(dim, first.ndim + 1)
    if d < 0:
        return NULL
    if first.ndim == MAX_DIMS:
        fail_i(ERR_RUNTIME, "stack(): the result would have %ld dimensions; at most %ld are possible", first.ndim + 1, MAX_DIMS, 0)
        return NULL
    for k in range(1, n):
        if not same_shape(first, list[k]):
            shape_text(have, sizeof(have), first.ndim, first.shape)
            shape_text(other, sizeof(other), list[k].ndim, list[k].shape)
            snprintf(text, sizeof(text), "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d", have, other, k)
            fail(ERR_RUNTIME, text)
            return NULL
        if list[k].dtype != dtype:
            dtype = promote(dtype, list[k].dtype)
    return stack_as(list, n, d, dtype, first.ndim, first.shape)


cdef int dtype_of(Array** grads, int n, const char* operation) noexcept nogil:
    cdef int k
    for k in range(n):
        if grads[k] != NULL:
            return grads[k].dtype
    return fail_s(ERR_RUNTIME, "%s(): every gradient is None; at least one must be there", operation, NULL, NULL)


cdef Array* join_backward(Array** grads, int n, const Py_ssize_t* lengths, Py_ssize_t split_size, Py_ssize_t dim, const IntList* sizes, const char* operation) noexcept nogil:
    # lengths NULL: split_size each, the last one what is left
    cdef Array* result
    cdef Py_ssize_t start = 0, length
    cdef int k, d, i, dtype = dtype_of(grads, n, operation)
    cdef bint holes = False
    if dtype < 0:
        return NULL
    d = normalize_dim(dim, sizes.n)
    if d < 0:
        return NULL
    for k in range(n):
        length = lengths[k] if lengths != NULL else split_size if split_size < sizes.v[d] - start else sizes.v[d] - start
        start += length
        if grads[k] == NULL:
            holes = True
            continue
        for i in range(sizes.n):
            if grads[k].ndim != sizes.n or grads[k].shape[i] != (length if i == d else sizes.v[i]):
                fail_s(ERR_RUNTIME, "%s(): a gradient's shape is not that of its output", operation, NULL, NULL)
                return NULL
    if start != sizes.v[d]:
        fail_s(ERR_RUNTIME, "%s(): the parts do not make up the whole", operation, NULL, NULL)
        return NULL
    result = array_zeros(dtype, sizes.n, sizes.v) if holes else array_empty(dtype, sizes.n, sizes.v)
    if result == NULL:
        return NULL
    start = 0
    for k in range(n):
        length = lengths[k] if lengths != NULL else split_size if split_size < sizes.v[d] - start else sizes.v[d] - start
        if grads[k] != NULL and put(result, result.data + start * result.strides[d], grads[k].shape, grads[k], sizes.n, result.strides) < 0:
            array_decref(result)
            return NULL
        start += length
    return result


cdef Array* split_backward(Array** grads, int n, Py_ssize_t split_size, Py_ssize_t dim, const IntList* sizes) noexcept nogil:
    return join_backward(grads, n, NULL, split_size, dim, sizes, "split_backward")


cdef Array* split_with_sizes_backward(Array** grads, int n, const IntList* lengths, Py_ssize_t dim, const IntList* sizes) noexcept nogil:
    if lengths.n != n:
        fail_i(ERR_RUNTIME, "split_with_sizes_backward(): %ld gradients for %ld parts", n, lengths.n, 0)
        return NULL
    return join_backward(grads, n, lengths.v, 0, dim, sizes, "split_with_sizes_backward")


cdef Array* unbind_backward(Array** grads, int n, Py_ssize_t dim, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t one[MAX_DIMS]
    cdef int i, k, d, dtype = dtype_of(grads, n, "unbind_backward")
    if dtype < 0:
        return NULL
    d = normalize_dim(dim, sizes.n)
    if d < 0:
        return NULL
    for i in range(sizes.n):
        if i != d:
            one[i if i < d else i - 1] = sizes.v[i]
    for k in range(n):
        if grads[k] == NULL:
            continue
        for i in range(sizes.n - 1):
            if grads[k].ndim != sizes.n - 1 or grads[k].shape[i] != one[i]:
                fail(ERR_RUNTIME, "unbind_backward(): a gradient's shape is not that of its output")
                return NULL
    return stack_as(grads, n, d, dtype, sizes.n - 1, one)


cdef int repeat_geometry(const char* operation, int ndim, const Py_ssize_t* sizes, const IntList* repeats, Py_ssize_t* shape) noexcept nogil:
    # the repeated shape; -1: error
    cdef int i, lead = repeats.n - ndim
    cdef Py_ssize_t r, s
    if lead < 0:
        return fail_i(ERR_RUNTIME, "repeat(): Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: %ld repeats for %ld dimensions",
                      repeats.n, ndim, 0)
    for i in range(repeats.n):
        r = repeats.v[i]
        s = sizes[i - lead] if i >= lead else 1
        if r < 0:
            return fail_i(ERR_RUNTIME, "repeat(): trying to create tensor with negative dimension %ld: repeat %ld is %ld; repeats are zero or more", r * s, i, r)
        if s > 0 and r > (<Py_ssize_t>1 << 60) // s:
            return fail_memory(<size_t>-1 >> 1)
        shape[i] = r * s
    return 0


cdef void repeat_block(Block* block, int itemsize, int ndim, const Py_ssize_t* sizes, const IntList* repeats, const Py_ssize_t* whole, const Py_ssize_t* one, bint back) noexcept nogil:
    # One box over repetition and element of every dim; whole: strides of the repeated Array, one: of the single one (ndim). back: whole is the source.
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t outer[MAX_DIMS]
    cdef Py_ssize_t inner[MAX_DIMS]
    cdef int i, n = 0, lead = repeats.n - ndim
    cdef Py_ssize_t s
    for i in range(repeats.n):
        s = sizes[i - lead] if i >= lead else 1
        if repeats.v[i] != 1:
            shape[n] = repeats.v[i]
            outer[n] = whole[i] * s
            inner[n] = 0
            n += 1
        if s != 1:
            shape[n] = s
            outer[n] = whole[i]
            inner[n] = one[i - lead]
            n += 1
    if back:
        block_init(block, itemsize, n, shape, inner, outer)
    else:
        block_init(block, itemsize, n, shape, outer, inner)


cdef Array* repeat(Array* a, const IntList* repeats) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Array* result
    cdef Block block
    if a == NULL or repeat_geometry("repeat", a.ndim, a.shape, repeats, shape) < 0:
        return NULL
    result = array_empty(a.dtype, repeats.n, shape)
    if result != NULL and result.numel > 0:
        repeat_block(&block, ITEMSIZE[a.dtype], a.ndim, a.shape, repeats, result.strides, a.strides, False)
        block_copy(&block, result.data, a.data)
    return result


cdef Array* repeat_backward(Array* grad, const IntList* repeats, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Array* result
    cdef Block block
    cdef int i
    if grad == NULL or repeat_geometry("repeat_backward", sizes.n, sizes.v, repeats, shape) < 0:
        return NULL
    for i in range(repeats.n):
        if grad.ndim != repeats.n or grad.shape[i] != shape[i]:
            fail(ERR_RUNTIME, "repeat_backward(): the gradient's shape is not that of the output")
            return NULL
    result = array_zeros(grad.dtype, sizes.n, sizes.v)
    if result != NULL and grad.numel > 0:
        repeat_block(&block, ITEMSIZE[grad.dtype], sizes.n, sizes.v, repeats, grad.strides, result.strides, True)
        block_add(&block, grad.dtype, result.data, grad.data)
    return result


cdef Array* flip(Array* a, const IntList* dims) noexcept nogil:
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Array* result
    cdef Block block
    cdef char* data
    cdef int i, d
    cdef unsigned long long seen = 0
    if a == NULL:
        return NULL
    for i in range(dims.n):
        d = normalize_dim(dims.v[i], a.ndim)
        if d < 0:
            return NULL
        if seen >> d & 1:
            fail_i(ERR_RUNTIME, "flip(): dim %ld appears multiple times in the list of dims; name each once", d, 0, 0)
            return NULL
        seen |= <unsigned long long>1 << d
    result = array_empty_like(a, a.dtype)
    if result == NULL or result.numel == 0:
        return result
    data = a.data
    for i in range(a.ndim):
        strides[i] = a.strides[i]
        if seen >> i & 1:
            data += (a.shape[i] - 1) * a.strides[i]
            strides[i] = -a.strides[i]
    block_init(&block, ITEMSIZE[a.dtype], a.ndim, a.shape, result.strides, strides)
    block_copy(&block, result.data, data)
    return result


cdef void roll_into(char* to, const Py_ssize_t* to_strides, Array* a, int itemsize, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* from_strides, const Py_ssize_t* shift) noexcept nogil:
    # Each dim with a shift is cut in two; the boxes between all cuts move one by one.
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int cut[MAX_DIMS]
    cdef bint second[MAX_DIMS]
    cdef char* target
    cdef char* source
    cdef Block block
    cdef int i, d, n = 0
    for d in range(ndim):
        shape[d] = sizes[d]
        if shift[d] != 0:
            cut[n] = d
            second[n] = False
            n += 1
    while True:
        target = to
        source = a.data
        for i in range(n):
            d = cut[i]
            if second[i]:
                shape[d] = shift[d]
                source += (sizes[d] - shift[d]) * from_strides[d]
            else:
                shape[d] = sizes[d] - shift[d]
                target += shift[d] * to_strides[d]
        block_init(&block, itemsize, ndim, shape, to_strides, from_strides)
        block_copy(&block, target, source)
        i = n - 1
        while i >= 0 and second[i]:
            second[i] = False
            i -= 1
        if i < 0:
            return
        second[i] = True


cdef Array* roll_by(Array* a, const IntList* shifts, const IntList* dims, int sign) noexcept nogil:
    cdef Py_ssize_t shift[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Array* result
    cdef Block block
    cdef Py_ssize_t s
    cdef int i, d
    if a == NULL:
        return NULL
    if shifts.n == 0:
        fail(ERR_RUNTIME, "roll(): `shifts` required; give one number a dim")
        return NULL
    if dims.n != shifts.n and not (dims.n == 0 and shifts.n == 1):
        fail_i(ERR_RUNTIME, "roll(): shifts and dimensions must align. shifts: %ld, dims:%ld", shifts.n, dims.n, 0)
        return NULL
    for i in range(a.ndim):
        shift[i] = 0
    for i in range(dims.n):
        d = normalize_dim(dims.v[i], a.ndim)
        if d < 0:
            return NULL
        if a.ndim > 0 and a.shape[d] > 0:
            s = shifts.v[i] % a.shape[d] * sign
            s = (shift[d] + s) % a.shape[d]
            shift[d] = s + a.shape[d] if s < 0 else s
    result = array_empty(a.dtype, a.ndim, a.shape)
    if result == NULL or result.numel == 0:
        return result
    if dims.n > 0:
        roll_into(result.data, result.strides, a, ITEMSIZE[a.dtype], a.ndim, a.shape, a.strides, shift)
        return result
    # over the flattened tensor: a copy first where memory is not in that order
    cdef Array* flat = NULL
    cdef Py_ssize_t step = ITEMSIZE[a.dtype]
    s = shifts.v[0] % a.numel * sign % a.numel
    if s < 0:
        s += a.numel
    flat = array_empty(a.dtype, a.ndim, a.shape)
    if flat == NULL:
        array_decref(result)
        return NULL
    block_init(&block, <int>step, a.ndim, a.shape, flat.strides, a.strides)
    block_copy(&block, flat.data, a.data)
    roll_into(result.data, &step, flat, <int>step, 1, &a.numel, &step, &s)
    array_decref(flat)
    return result


cdef Array* roll(Array* a, const IntList* shifts, const IntList* dims) noexcept nogil:
    return roll_by(a, shifts, dims, 1)


cdef Array* roll_backward(Array* grad, const IntList* shifts, const IntList* dims) noexcept nogil:
    return roll_by(grad, shifts, dims, -1)


cdef Array* triangle(Array* a, Py_ssize_t k, bint lower, const char* operation) noexcept nogil:
    cdef Array* result
    cdef Py_ssize_t rows, columns, batches, b, rest, i, start, stop, item, step
    cdef char* target
    cdef char* source
    cdef int d, last
    if a == NULL:
        return NULL
    if a.ndim < 2:
        fail_s(ERR_RUNTIME, "%s: input tensor must have at least 2 dimensions", operation, NULL, NULL)
        return NULL
    result = array_zeros(a.dtype, a.ndim, a.shape)
    if result == NULL or result.numel == 0:
        return result
    last = a.ndim - 1
    rows = a.shape[last - 1]
    columns = a.shape[last]
    item = ITEMSIZE[a.dtype]
    step = a.strides[last]
    k = -rows if k < -rows else columns if k > columns else k
    batches = a.numel // (rows * columns)
    for b in range(batches):
        rest = b
        source = a.data
        for d in range(last - 2, -1, -1):
            source += rest % a.shape[d] * a.strides[d]
            rest //= a.shape[d]
        target = result.data + b * rows * columns * item
        for i in range(rows):
            start = 0 if lower else i + k
            stop = i + k + 1 if lower else columns
            start = 0 if start < 0 else start
            stop = columns if stop > columns else stop
            if stop > start:
                if step == item:
                    memcpy(target + start * item, source + start * item, (stop - start) * item)
                else:
                    copy_run(<int>item, stop - start, target + start * item, item, source + start * step, step)
            target += columns * item
            source += a.strides[last - 1]
    return result


cdef Array* tril(Array* a, Py_ssize_t diagonal) noexcept nogil:
    return triangle(a, diagonal, True, "tril")


cdef Array* triu(Array* a, Py_ssize_t diagonal) noexcept nogil:
    return triangle(a, diagonal, False, "triu")


cdef Array* diagonal_copy(Array* a, Py_ssize_t offset) noexcept nogil:
    cdef Array* view = diagonal_view(a, offset, 0, 1)
    cdef Array* result
    if view == NULL:
        return NULL
    result = array_empty(a.dtype, 1, view.shape)
    if result != NULL:
        copy_run(ITEMSIZE[a.dtype], view.numel, result.data, ITEMSIZE[a.dtype], view.data, view.strides[0])
    array_decref(view)
    return result


cdef Array* diag(Array* a, Py_ssize_t diagonal) noexcept nogil:
    if a == NULL:
        return NULL
    if a.ndim == 1:
        return diag_embed(a, diagonal, 0, 1)
    if a.ndim == 2:
        return diagonal_copy(a, diagonal)
    fail_i(ERR_RUNTIME, "diag(): Supports 1D or 2D tensors. Got %ldD; for others use diagonal or diag_embed", a.ndim, 0, 0)
    return NULL


cdef Array* diag_backward(Array* grad, const IntList* sizes, Py_ssize_t diagonal) noexcept nogil:
    if grad == NULL:
        return NULL
    if sizes.n == 1:
        return diagonal_copy(grad, diagonal)
    return diagonal_backward(grad, sizes, diagonal, 0, 1)


cdef Array* diag_embed(Array* a, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil:
    cdef IntList sizes
    cdef int i, j, k, n = 0
    cdef Py_ssize_t side
    if a == NULL:
        return NULL
    if a.ndim == 0 or a.ndim == MAX_DIMS:
        fail_i(ERR_RUNTIME, "diag_embed(): needs between 1 and %ld dimensions, and the tensor has %ld", MAX_DIMS - 1, a.ndim, 0)
        return NULL
    i = normalize_dim(dim1, a.ndim + 1)
    j = normalize_dim(dim2, a.ndim + 1)
    if i < 0 or j < 0:
        return NULL
    if i == j:
        fail_i(ERR_RUNTIME, "diag_embed(): diagonal dimensions cannot be identical %ld, %ld; name two", dim1, dim2, 0)
        return NULL
    side = offset if offset >= 0 else -offset
    if side < 0 or side > (<Py_ssize_t>1 << 60) - a.shape[a.ndim - 1]:
        fail_memory(<size_t>-1 >> 1)
        return NULL
    side += a.shape[a.ndim - 1]
    sizes.n = a.ndim + 1
    for k in range(sizes.n):
        if k == i or k == j:
            sizes.v[k] = side
        else:
            sizes.v[k] = a.shape[n]
            n += 1
    return diagonal_backward(a, &sizes, offset, i, j)


cdef int pad_sides(Array* a, const IntList* pad, int sign, Py_ssize_t* before, Py_ssize_t* shape) noexcept nogil:
    cdef int i, d
    cdef Py_ssize_t low, high
    if pad.n % 2 != 0:
        return fail_i(ERR_RUNTIME, "pad(): Padding length must be divisible by 2, and it is %ld; give two numbers a dimension", pad.n, 0, 0)
    if pad.n // 2 > a.ndim:
        return fail_i(ERR_RUNTIME, "pad(): Padding length should be less than or equal to two times the input dimension but got padding length %ld and input of dimension %ld",
                      pad.n, a.ndim, 0)
    for d in range(a.ndim):
        i = 2 * (a.ndim - 1 - d)
        low = sign * pad.v[i] if i < pad.n else 0
        high = sign * pad.v[i + 1] if i < pad.n else 0
        if low > (<Py_ssize_t>1 << 60) or high > (<Py_ssize_t>1 << 60):
            return fail_memory(<size_t>-1 >> 1)
        if low < -a.shape[d] - (<Py_ssize_t>1 << 60) or high < -a.shape[d] - (<Py_ssize_t>1 << 60) or a.shape[d] + (low if low < 0 else 0) + (high if high < 0 else 0) < 0:
            return fail_i(ERR_RUNTIME, "pad(): padding of %ld before and %ld after dimension %ld resulted in a negative output size", low, high, d)
        before[d] = low
        shape[d] = a.shape[d] + low + high
    return 0


cdef Array* pad_by(Array* a, const IntList* pad, int sign, Array* value) noexcept nogil:
    cdef Py_ssize_t before[MAX_DIMS]
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t inner[MAX_DIMS]
    cdef Array* result
    cdef char* source
    cdef char* target
    cdef Block block
    cdef Py_ssize_t start, stop
    cdef int d
    if pad_sides(a, pad, sign, before, shape) < 0:
        return NULL
    result = array_zeros(a.dtype, a.ndim, shape) if value == NULL else array_empty(a.dtype, a.ndim, shape)
    if result == NULL:
        return NULL
    if value != NULL and fill(result, value) < 0:
        array_decref(result)
        return NULL
    source = a.data
    target = result.data
    for d in range(a.ndim):
        # result index r shows a's index r - before
        start = before[d] if before[d] > 0 else 0
        stop = before[d] + a.shape[d]
        stop = shape[d] if stop > shape[d] else stop
        if stop <= start:
            return result
        inner[d] = stop - start
        target += start * result.strides[d]
        source += (start - before[d]) * a.strides[d]
    block_init(&block, ITEMSIZE[a.dtype], a.ndim, inner, result.strides, a.strides)
    block_copy(&block, target, source)
    return result


cdef Array* constant_pad(Array* a, const IntList* pad, Array* value) noexcept nogil:
    if a == NULL:
        return NULL
    return pad_by(a, pad, 1, value)


cdef Array* constant_pad_backward(Array* grad, const IntList* pad) noexcept nogil:
    cdef Py_ssize_t before[MAX_DIMS]
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef char* data
    cdef int i
    if grad == NULL:
        return NULL
    for i in range(pad.n):
        if pad.v[i] < 0:
            return pad_by(grad, pad, -1, NULL)
    if pad_sides(grad, pad, -1, before, shape) < 0:
        return NULL
    data = grad.data
    for i in range(grad.ndim):
        data -= before[i] * grad.strides[i]
    return array_view(grad, grad.dtype, data, grad.ndim, shape, grad.strides)


cdef Array* eye(Py_ssize_t rows, Py_ssize_t columns, int dtype) noexcept nogil:
    cdef Py_ssize_t shape[2]
    cdef Array* result
    cdef Array* view
    cdef Array* one
    cdef int status = -1
    if rows < 0 or columns < 0:
        fail_i(ERR_RUNTIME, "eye(): n must be greater or equal to 0, got %ld rows and %ld columns", rows, columns, 0)
        return NULL
    shape[0] = rows
    shape[1] = columns
    result = array_zeros(dtype, 2, shape)
    view = diagonal_view(result, 0, 0, 1)
    one = scalar_int(1)
    if view != NULL and one != NULL:
        status = fill(view, one)
    array_decref(view)
    array_decref(one)
    if status < 0:
        array_decref(result)
        return NULL
    return result
