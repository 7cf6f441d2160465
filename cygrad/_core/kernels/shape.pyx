# Views. Contract: shape.pxd.

from libc.stdio cimport snprintf
from libc.string cimport memcpy
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.array cimport (
    Array, IntList, MAX_DIMS, CONTIGUOUS, WRAPPED, array_empty, array_view, array_alias, array_incref, array_decref, normalize_dim, shape_text)
from cygrad._core.dtypes cimport ITEMSIZE, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, dtype_cname, is_complex_code
from cygrad._core.errors cimport fail, fail_i, fail_s, fail_memory, ERR_RUNTIME
from cygrad._core.kernels.strided cimport view_copy


cdef inline Array* same(Array* a) noexcept nogil:
    return array_alias(a) if unlikely(a.flags & WRAPPED) else array_incref(a)


cdef Array* fail_shapes(int kind, const char* format, Array* a, const IntList* sizes) noexcept nogil:
    # format: the Array's sizes, then the sizes asked for
    cdef char have[220]
    cdef char want[220]
    shape_text(have, sizeof(have), a.ndim, a.shape)
    shape_text(want, sizeof(want), sizes.n, sizes.v)
    fail_s(kind, format, have, want, NULL)
    return NULL


cdef int fail_infer(Array* a, const IntList* sizes, int dim) noexcept nogil:
    cdef char want[220]
    cdef char text[640]
    shape_text(want, sizeof(want), sizes.n, sizes.v)
    if dim >= 0:
        snprintf(text, sizeof(text), "view(): invalid shape dimension %ld at index %d of shape %s; sizes are zero or more, and one may be -1",
                 <long>sizes.v[dim], dim, want)
    elif a.numel == 0 and dim == -2:
        snprintf(text, sizeof(text), "view(): cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be any "
                 "value and is ambiguous; give that size", want)
    else:
        snprintf(text, sizeof(text), "view(): shape '%s' is invalid for input of size %ld; the sizes must multiply to that number", want, <long>a.numel)
    return fail(ERR_RUNTIME, text)


cdef int infer_sizes(Array* a, const IntList* sizes, Py_ssize_t* shape) noexcept nogil:
    cdef Py_ssize_t n = 1, v
    cdef int i, free_dim = -1
    for i in range(sizes.n):
        v = sizes.v[i]
        shape[i] = v
        if v == -1:
            if free_dim >= 0:
                return fail(ERR_RUNTIME, "view(): only one dimension can be inferred; give all sizes but one")
            free_dim = i
        elif unlikely(v < 0):
            return fail_infer(a, sizes, i)
        elif v > 1 and n > (<Py_ssize_t>1 << 60) // v:
            return fail_infer(a, sizes, -1)
        else:
            n *= v
    if free_dim >= 0:
        if n == 0:
            return fail_infer(a, sizes, -2)
        if a.numel % n != 0:
            return fail_infer(a, sizes, -1)
        shape[free_dim] = a.numel // n
    elif n != a.numel:
        return fail_infer(a, sizes, -1)
    return 0


cdef void contiguous_strides(Py_ssize_t itemsize, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil:
    cdef int i
    cdef Py_ssize_t step = itemsize
    for i in range(ndim - 1, -1, -1):
        strides[i] = step
        step *= shape[i] if shape[i] > 1 else 1


cdef int view_strides(Array* a, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil:
    # From the last dim on, old dims that lie densely in each other form a block; the new dims must cut at the ends of blocks.
    cdef int d, v = ndim - 1
    cdef Py_ssize_t base, have = 1, taken = 1
    if a.ndim == 0 or (a.flags & CONTIGUOUS and (a.strides[a.ndim - 1] == ITEMSIZE[a.dtype] or a.numel == 0)):
        if a.numel == 0 and a.ndim == ndim:
            for d in range(ndim):
                if shape[d] != a.shape[d]:
                    break
            else:
                memcpy(strides, a.strides, ndim * sizeof(Py_ssize_t))
                return 0
        contiguous_strides(ITEMSIZE[a.dtype], ndim, shape, strides)
        return 0
    base = a.strides[a.ndim - 1]
    for d in range(a.ndim - 1, -1, -1):
        have *= a.shape[d]
        if d > 0 and (a.shape[d - 1] == 1 or a.strides[d - 1] == have * base):
            continue
        while v >= 0 and (taken < have or shape[v] == 1):
            strides[v] = taken * base
            taken *= shape[v]
            v -= 1
        if taken != have:
            return -1
        if d > 0:
            base = a.strides[d - 1]
            have = taken = 1
    return 0 if v < 0 else -1


cdef inline Array* view_shape(Array* a, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef Py_ssize_t strides[MAX_DIMS]
    if unlikely(view_strides(a, ndim, shape, strides) < 0):
        return NULL
    return array_view(a, a.dtype, a.data, ndim, shape, strides)


cdef Array* view_sizes(Array* a, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    if a == NULL or infer_sizes(a, sizes, shape) < 0:
        return NULL
    if unlikely(view_strides(a, sizes.n, shape, strides) < 0):
        return fail_shapes(ERR_RUNTIME, "view(): view size is not compatible with input tensor's size and stride: a tensor of sizes %s that is not contiguous "
                           "cannot be seen as %s without a copy; use .reshape(...), which copies", a, sizes)
    return array_view(a, a.dtype, a.data, sizes.n, shape, strides)


cdef Array* reshape_to(Array* a, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef Array* result
    cdef Py_ssize_t strides[MAX_DIMS]
    if view_strides(a, ndim, shape, strides) == 0:
        return array_view(a, a.dtype, a.data, ndim, shape, strides)
    result = array_empty(a.dtype, ndim, shape)
    if result == NULL:
        return NULL
    contiguous_strides(ITEMSIZE[a.dtype], a.ndim, a.shape, strides)
    if view_copy(result, result.data, a.ndim, a.shape, strides, a) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* reshape(Array* a, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    if a == NULL or infer_sizes(a, sizes, shape) < 0:
        return NULL
    return reshape_to(a, sizes.n, shape)


cdef Array* flatten(Array* a, Py_ssize_t start_dim, Py_ssize_t end_dim) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int first, last, i, n = 0
    if a == NULL:
        return NULL
    first = normalize_dim(start_dim, a.ndim)
    last = normalize_dim(end_dim, a.ndim)
    if first < 0 or last < 0:
        return NULL
    if first > last:
        fail(ERR_RUNTIME, "flatten() has invalid args: start_dim cannot come after end_dim; swap them")
        return NULL
    if a.ndim > 0 and first == last:
        return same(a)
    if a.ndim == 0:
        shape[0] = 1
        return view_shape(a, 1, shape)
    for i in range(a.ndim):
        if i <= first or i > last:
            shape[n] = a.shape[i]
            n += 1
        else:
            shape[n - 1] *= a.shape[i]
    return reshape_to(a, n, shape)


cdef Array* unflatten(Array* a, Py_ssize_t dim, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t n = 1
    cdef int d, i, free_dim = -1
    cdef char want[220]
    cdef char text[640]
    if a == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return NULL
    if a.ndim == 0 or sizes.n == 0:
        fail(ERR_RUNTIME, "unflatten(): sizes must be non-empty, and the tensor must have a dimension to unflatten")
        return NULL
    if a.ndim + sizes.n - 1 > MAX_DIMS:
        fail_i(ERR_RUNTIME, "unflatten(): the result would have %ld dimensions; at most %ld are possible", a.ndim + sizes.n - 1, MAX_DIMS, 0)
        return NULL
    for i in range(sizes.n):
        if sizes.v[i] == -1 and free_dim < 0:
            free_dim = i
        elif sizes.v[i] < 0 or (sizes.v[i] > 1 and n > (<Py_ssize_t>1 << 60) // sizes.v[i]):
            n = -1
            break
        else:
            n *= sizes.v[i]
    if n < 0 or (n != a.shape[d] if free_dim < 0 else n == 0 or a.shape[d] % n != 0):
        shape_text(want, sizeof(want), sizes.n, sizes.v)
        snprintf(text, sizeof(text), "unflatten(): Provided sizes %s don't multiply up to the size of dim %d (%ld) in the input tensor", want, d, <long>a.shape[d])
        fail(ERR_RUNTIME, text)
        return NULL
    for i in range(d):
        shape[i] = a.shape[i]
    for i in range(sizes.n):
        shape[d + i] = sizes.v[i] if i != free_dim else a.shape[d] // n
    for i in range(d + 1, a.ndim):
        shape[i + sizes.n - 1] = a.shape[i]
    return view_shape(a, a.ndim + sizes.n - 1, shape)      # splitting one dim never needs a copy


cdef Array* fail_view_dtype(Array* a, int dtype, const char* what, long factor, long got) noexcept nogil:
    cdef char text[400]
    snprintf(text, sizeof(text), "view(dtype): %s %ld to view %s as %s (different element sizes), but got %ld; use .to(dtype) to convert values, or .contiguous() first",
             what, factor, dtype_cname(a.dtype), dtype_cname(dtype), got)
    fail(ERR_RUNTIME, text)
    return NULL


cdef Array* view_dtype(Array* a, int dtype) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int old, new, i, last
    cdef Py_ssize_t offset
    if a == NULL:
        return NULL
    old = ITEMSIZE[a.dtype]
    new = ITEMSIZE[dtype]
    if old == new:
        if dtype == a.dtype:
            return same(a)
        return array_view(a, dtype, a.data, a.ndim, a.shape, a.strides)
    if a.ndim == 0:
        fail_s(ERR_RUNTIME, "view(dtype): self.dim() cannot be 0 to view %s as %s (different element sizes); unsqueeze it first", dtype_cname(a.dtype), dtype_cname(dtype), NULL)
        return NULL
    last = a.ndim - 1
    if a.strides[last] != old:
        return fail_view_dtype(a, dtype, "self.stride(-1) must be", 1, a.strides[last] // old)
    memcpy(shape, a.shape, a.ndim * sizeof(Py_ssize_t))
    memcpy(strides, a.strides, a.ndim * sizeof(Py_ssize_t))
    if new > old:
        offset = a.data - a.storage.data
        if shape[last] * old % new != 0:
            return fail_view_dtype(a, dtype, "self.size(-1) must be divisible by", new // old, shape[last])
        if offset % new != 0 or <size_t>a.data % (new if new < 8 else 8) != 0:
            return fail_view_dtype(a, dtype, "self.storage_offset() must be divisible by", new // old, offset // old)
        for i in range(last):
            if strides[i] % new != 0:
                return fail_view_dtype(a, dtype, "every stride but the last must be divisible by", new // old, strides[i] // old)
    shape[last] = shape[last] * old // new
    strides[last] = new
    return array_view(a, dtype, a.data, a.ndim, shape, strides)


cdef Array* view_as_real(Array* a) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    if a == NULL:
        return NULL
    if not is_complex_code(a.dtype):
        fail_s(ERR_RUNTIME, "view_as_real is only supported for complex tensors, and this one is %s; it is real already", dtype_cname(a.dtype), NULL, NULL)
        return NULL
    if a.ndim == MAX_DIMS:
        fail_i(ERR_RUNTIME, "view_as_real(): the result would have %ld dimensions; at most %ld are possible", a.ndim + 1, MAX_DIMS, 0)
        return NULL
    memcpy(shape, a.shape, a.ndim * sizeof(Py_ssize_t))
    memcpy(strides, a.strides, a.ndim * sizeof(Py_ssize_t))
    shape[a.ndim] = 2
    strides[a.ndim] = ITEMSIZE[a.dtype] // 2
    return array_view(a, FLOAT32 if a.dtype == COMPLEX64 else FLOAT64, a.data, a.ndim + 1, shape, strides)


cdef Array* view_as_complex(Array* a) noexcept nogil:
    cdef int i, last, wide
    cdef const char* wrong = NULL
    if a == NULL:
        return NULL
    if a.dtype != FLOAT32 and a.dtype != FLOAT64:
        fail_s(ERR_RUNTIME, "view_as_complex is only supported for floating point tensors (float32 and float64), but got a tensor of scalar type: %s", dtype_cname(a.dtype), NULL, NULL)
        return NULL
    last = a.ndim - 1
    wide = 2 * ITEMSIZE[a.dtype]
    if last < 0:
        wrong = "Input tensor must have one or more dimensions"
    elif a.shape[last] != 2:
        wrong = "Tensor must have a last dimension of size 2"
    elif a.strides[last] != ITEMSIZE[a.dtype]:
        wrong = "Tensor must have a last dimension with stride 1"
    elif (a.data - a.storage.data) % wide != 0:
        wrong = "Tensor must have a storage_offset divisible by 2"
    else:
        for i in range(last):
            if a.strides[i] % wide != 0 and a.shape[i] != 1:
                wrong = "Tensor must have a stride divisible by 2 for all but last dimension"
    if wrong != NULL:
        fail_s(ERR_RUNTIME, "view_as_complex(): %s; .contiguous() mends strides and offset", wrong, NULL, NULL)
        return NULL
    return array_view(a, COMPLEX64 if a.dtype == FLOAT32 else COMPLEX128, a.data, last, a.shape, a.strides)


cdef Array* transpose(Array* a, Py_ssize_t dim0, Py_ssize_t dim1) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int i, j, k
    if a == NULL:
        return NULL
    i = normalize_dim(dim0, a.ndim)
    j = normalize_dim(dim1, a.ndim)
    if unlikely(i < 0 or j < 0):
        return NULL
    if i == j:
        return same(a)
    for k in range(a.ndim):
        shape[k] = a.shape[k]
        strides[k] = a.strides[k]
    shape[i] = a.shape[j]
    strides[i] = a.strides[j]
    shape[j] = a.shape[i]
    strides[j] = a.strides[i]
    return array_view(a, a.dtype, a.data, a.ndim, shape, strides)


cdef Array* t(Array* a) noexcept nogil:
    cdef Py_ssize_t geometry[4]
    if a == NULL:
        return NULL
    if likely(a.ndim == 2):
        geometry[0] = a.shape[1]
        geometry[1] = a.shape[0]
        geometry[2] = a.strides[1]
        geometry[3] = a.strides[0]
        return array_view(a, a.dtype, a.data, 2, geometry, geometry + 2)
    if a.ndim > 2:
        fail_i(ERR_RUNTIME, "t() expects a tensor with <= 2 dimensions, but self is %ldD; use .mT or .transpose(dim0, dim1)", a.ndim, 0, 0)
        return NULL
    return same(a)


cdef int normalize_order(Array* a, const IntList* dims, int* order) noexcept nogil:
    cdef int i, d
    cdef unsigned long long seen = 0
    if unlikely(dims.n != a.ndim):
        return fail_i(ERR_RUNTIME, "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions, "
                      "i.e. input.dim() = %ld is not equal to len(dims) = %ld", a.ndim, dims.n, 0)
    for i in range(a.ndim):
        d = normalize_dim(dims.v[i], a.ndim)
        if unlikely(d < 0):
            return -1
        if unlikely(seen >> d & 1):
            return fail_i(ERR_RUNTIME, "permute(): duplicate dims are not allowed; dim %ld appears twice", d, 0, 0)
        seen |= <unsigned long long>1 << d
        order[i] = d
    return 0


cdef Array* permute(Array* a, const IntList* dims) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int order[MAX_DIMS]
    cdef int i
    if a == NULL or normalize_order(a, dims, order) < 0:
        return NULL
    for i in range(a.ndim):
        shape[i] = a.shape[order[i]]
        strides[i] = a.strides[order[i]]
    return array_view(a, a.dtype, a.data, a.ndim, shape, strides)


cdef Array* permute_inverse(Array* a, const IntList* dims) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int order[MAX_DIMS]
    cdef int i
    if a == NULL or normalize_order(a, dims, order) < 0:
        return NULL
    for i in range(a.ndim):
        shape[order[i]] = a.shape[i]
        strides[order[i]] = a.strides[i]
    return array_view(a, a.dtype, a.data, a.ndim, shape, strides)


cdef int unique_dims(const char* operation, const char* which, const IntList* dims, int ndim, int* into, unsigned long long* seen) noexcept nogil:
    cdef int i, d
    cdef char text[200]
    seen[0] = 0
    for i in range(dims.n):
        d = normalize_dim(dims.v[i], ndim)
        if d < 0:
            return -1
        if seen[0] >> d & 1:
            snprintf(text, sizeof(text), "%s(): dim %d appears multiple times in the list of dims (repeated dim in `%s`); name each once", operation, d, which)
            return fail(ERR_RUNTIME, text)
        seen[0] |= <unsigned long long>1 << d
        into[i] = d
    return 0


cdef Array* movedim(Array* a, const IntList* source, const IntList* destination) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int from_[MAX_DIMS]
    cdef int to[MAX_DIMS]
    cdef int order[MAX_DIMS]
    cdef unsigned long long from_seen, to_seen
    cdef int i, next_ = 0
    if a == NULL:
        return NULL
    if source.n != destination.n:
        fail_i(ERR_RUNTIME, "movedim(): Invalid source or destination dims: source (%ld dims) should contain the same number of dims as destination (%ld dims)",
               source.n, destination.n, 0)
        return NULL
    if (unique_dims("movedim", "source", source, a.ndim, from_, &from_seen) < 0
            or unique_dims("movedim", "destination", destination, a.ndim, to, &to_seen) < 0):
        return NULL
    if a.ndim == 0:
        return same(a)
    for i in range(source.n):
        order[to[i]] = from_[i]
    for i in range(a.ndim):
        if to_seen >> i & 1:
            continue
        while from_seen >> next_ & 1:
            next_ += 1
        order[i] = next_
        next_ += 1
    for i in range(a.ndim):
        shape[i] = a.shape[order[i]]
        strides[i] = a.strides[order[i]]
    return array_view(a, a.dtype, a.data, a.ndim, shape, strides)


cdef Array* squeeze_mask(Array* a, unsigned long long mask) noexcept nogil:
    # drops those dims of size 1 whose bit is set
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int i, n = 0
    for i in range(a.ndim):
        if a.shape[i] != 1 or not mask >> i & 1:
            shape[n] = a.shape[i]
            strides[n] = a.strides[i]
            n += 1
    if n == a.ndim:
        return same(a)
    return array_view(a, a.dtype, a.data, n, shape, strides)


cdef Array* squeeze(Array* a) noexcept nogil:
    if a == NULL:
        return NULL
    return squeeze_mask(a, ~<unsigned long long>0)


cdef Array* squeeze_dim(Array* a, Py_ssize_t dim) noexcept nogil:
    cdef int d
    if a == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return NULL
    return squeeze_mask(a, <unsigned long long>1 << d)


cdef Array* squeeze_dims(Array* a, const IntList* dims) noexcept nogil:
    cdef int into[MAX_DIMS]
    cdef unsigned long long seen
    if a == NULL or unique_dims("squeeze", "dim", dims, a.ndim, into, &seen) < 0:
        return NULL
    return squeeze_mask(a, seen)


cdef Array* unsqueeze_mask(Array* a, int added, unsigned long long mask) noexcept nogil:
    # mask: dims of the result that are new; their stride is that of torch: the extent of what follows
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int n = a.ndim + added, i, k = a.ndim - 1
    if unlikely(n > MAX_DIMS):
        fail_i(ERR_RUNTIME, "unsqueeze(): the result would have %ld dimensions; at most %ld are possible", n, MAX_DIMS, 0)
        return NULL
    for i in range(n - 1, -1, -1):
        if mask >> i & 1:
            shape[i] = 1
            strides[i] = ITEMSIZE[a.dtype] if i == n - 1 else shape[i + 1] * strides[i + 1]
        else:
            shape[i] = a.shape[k]
            strides[i] = a.strides[k]
            k -= 1
    return array_view(a, a.dtype, a.data, n, shape, strides)


cdef Array* unsqueeze(Array* a, Py_ssize_t dim) noexcept nogil:
    cdef int d
    if a == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim + 1)
    if d < 0:
        return NULL
    return unsqueeze_mask(a, 1, <unsigned long long>1 << d)


cdef Array* unsqueeze_dims(Array* a, const IntList* dims) noexcept nogil:
    cdef int into[MAX_DIMS]
    cdef unsigned long long seen
    if a == NULL or unique_dims("unsqueeze", "dim", dims, a.ndim + dims.n, into, &seen) < 0:
        return NULL
    return unsqueeze_mask(a, dims.n, seen)


cdef Array* fail_expand(Array* a, const IntList* sizes, int dim) noexcept nogil:
    cdef char have[220]
    cdef char want[220]
    cdef char text[800]
    cdef int lead = sizes.n - a.ndim
    shape_text(have, sizeof(have), a.ndim, a.shape)
    shape_text(want, sizeof(want), sizes.n, sizes.v)
    if lead < 0:
        snprintf(text, sizeof(text), "expand(): a tensor of sizes %s to %s: the number of sizes provided (%d) must be greater or equal to the number of dimensions "
                 "in the tensor (%d)", have, want, sizes.n, <int>a.ndim)
    elif dim < lead:
        snprintf(text, sizeof(text), "expand(): The expanded size of the tensor (%ld) isn't allowed in a leading, non-existing dimension %d; target sizes %s, tensor sizes %s",
                 <long>sizes.v[dim], dim, want, have)
    else:
        snprintf(text, sizeof(text), "expand(): The expanded size of the tensor (%ld) must match the existing size (%ld) at non-singleton dimension %d. "
                 "Target sizes: %s. Tensor sizes: %s", <long>sizes.v[dim], <long>a.shape[dim - lead], dim, want, have)
    fail(ERR_RUNTIME, text)
    return NULL


cdef Array* expand(Array* a, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int i, k, lead
    cdef Py_ssize_t v, numel = 1
    cdef bint changed, empty = False
    if a == NULL:
        return NULL
    lead = sizes.n - a.ndim
    if unlikely(lead < 0):
        return fail_expand(a, sizes, 0)
    changed = lead > 0
    for i in range(sizes.n - 1, -1, -1):
        v = sizes.v[i]
        k = i - lead
        if k >= 0 and (v == a.shape[k] or v == -1):
            shape[i] = a.shape[k]
            strides[i] = a.strides[k]
        elif v >= 0 and (k < 0 or a.shape[k] == 1):
            shape[i] = v
            strides[i] = 0 if k >= 0 or v != 1 or a.ndim == 0 else (ITEMSIZE[a.dtype] if i == sizes.n - 1 else shape[i + 1] * strides[i + 1])
            changed = True
        else:
            return fail_expand(a, sizes, i)
        if shape[i] == 0:
            empty = True
        elif unlikely(numel > (<Py_ssize_t>1 << 60) // shape[i]):
            fail_memory(<size_t>-1 >> 1)
            return NULL
        else:
            numel *= shape[i]
    if not changed:
        return same(a)
    return array_view(a, a.dtype, a.data, sizes.n, shape, strides)


cdef Array* alias(Array* a) noexcept nogil:
    return array_alias(a)
