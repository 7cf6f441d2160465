# Gathering and scattering along one dimension. Contract: gathering.pxd.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memset
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.array cimport (
    Array, IntList, MAX_DIMS, WRAPPED, array_empty, array_zeros, array_incref, array_decref, normalize_dim, shape_text)
from cygrad._core.dtypes cimport ITEMSIZE, INT32, INT64, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, dtype_cname, is_complex_code
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_RUNTIME, ERR_INDEX
from cygrad._core.kernels.copy cimport cast, contiguous, clone, convert_element, copy_into, check_value, memory_overlaps
from cygrad._core.kernels.indexing cimport Plan, plan_dim, plan_free, plan_read, plan_write
from cygrad._core.kernels.iterate cimport Loop, InnerLoop, loop_init, loop_add, loop_add_strided, loop_ready, loop_run
from cygrad._core.kernels.shape cimport unsqueeze
from cygrad._core.kernels.strided cimport Pair, Bits, Addend, add_run
from cygrad._core.kernels.ufuncs cimport LoopEntry, ufunc_loop, mul, UF_MUL, UF_MAXIMUM, UF_MINIMUM


cdef Array* positions(Array* index) noexcept nogil:
    # int64 and contiguous, new reference
    cdef Array* wide = cast(index, INT64)
    cdef Array* dense = contiguous(wide)
    array_decref(wide)
    return dense


cdef int check_positions(Array* index, Py_ssize_t low, Py_ssize_t size, int dim, int kind, const char* format) noexcept nogil:
    # index: contiguous int64; every position in low ... size - 1. format: position, dim, size
    cdef const int64_t* v = <const int64_t*>index.data
    cdef Py_ssize_t i, n = index.numel
    cdef int64_t wrong = 0
    for i in range(n):                   # the sign bit gathers what lies outside: no branch an element
        wrong |= (v[i] - low) | (size - 1 - v[i])
    if likely(wrong >= 0):
        return 0
    for i in range(n):
        if v[i] < low or v[i] >= size:
            return fail_i(kind, format, v[i], dim, size)
    return 0


# ---- gather and scatter ---------------------------------------------------------------------------------------------
# Loops over index's elements. args: 0 index, 1 the side as large as index, 2 the side that is addressed; data: bytes between its neighbours along dim.
# Strides go to locals first: stores through char* might change them, as far as the compiler knows.


cdef void gather_run(Bits* unused, char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    cdef const char* index = args[0]
    cdef char* to = args[1]
    cdef const char* source = args[2]
    cdef Py_ssize_t i, step = (<Py_ssize_t*>data)[0], index_stride = strides[0], small_stride = strides[1], large_stride = strides[2], n = count[0]
    for i in range(n):
        (<Bits*>to)[0] = (<const Bits*>(source + (<const int64_t*>index)[0] * step))[0]
        index += index_stride
        to += small_stride
        source += large_stride


cdef void gather_1(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    gather_run[uint8_t](NULL, args, count, strides, data)


cdef void gather_2(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    gather_run[uint16_t](NULL, args, count, strides, data)


cdef void gather_4(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    gather_run[uint32_t](NULL, args, count, strides, data)


cdef void gather_8(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    gather_run[uint64_t](NULL, args, count, strides, data)


cdef void gather_16(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    gather_run[Pair](NULL, args, count, strides, data)


cdef void scatter_run(Bits* unused, char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    cdef const char* index = args[0]
    cdef const char* source = args[1]
    cdef char* to = args[2]
    cdef Py_ssize_t i, step = (<Py_ssize_t*>data)[0], index_stride = strides[0], small_stride = strides[1], large_stride = strides[2], n = count[0]
    for i in range(n):
        (<Bits*>(to + (<const int64_t*>index)[0] * step))[0] = (<const Bits*>source)[0]
        index += index_stride
        source += small_stride
        to += large_stride


cdef void scatter_1(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    scatter_run[uint8_t](NULL, args, count, strides, data)


cdef void scatter_2(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    scatter_run[uint16_t](NULL, args, count, strides, data)


cdef void scatter_4(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    scatter_run[uint32_t](NULL, args, count, strides, data)


cdef void scatter_8(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    scatter_run[uint64_t](NULL, args, count, strides, data)


cdef void scatter_16(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    scatter_run[Pair](NULL, args, count, strides, data)


cdef void add_at_run(Addend* unused, int width, char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    cdef const char* index = args[0]
    cdef const char* source = args[1]
    cdef char* to = args[2]
    cdef Addend* place
    cdef Py_ssize_t i, step = (<Py_ssize_t*>data)[0], index_stride = strides[0], small_stride = strides[1], large_stride = strides[2], n = count[0]
    for i in range(n):
        place = <Addend*>(to + (<const int64_t*>index)[0] * step)
        place[0] = place[0] + (<const Addend*>source)[0]
        if width == 2:
            place[1] = place[1] + (<const Addend*>source)[1]
        index += index_stride
        source += small_stride
        to += large_stride


cdef void add_at_f4(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    add_at_run[float](NULL, 1, args, count, strides, data)


cdef void add_at_f8(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    add_at_run[double](NULL, 1, args, count, strides, data)


cdef void add_at_c8(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    add_at_run[float](NULL, 2, args, count, strides, data)


cdef void add_at_c16(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    add_at_run[double](NULL, 2, args, count, strides, data)


cdef void add_at_i8(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    add_at_run[uint64_t](NULL, 1, args, count, strides, data)


cdef struct OneByOne:        # data of the loops below; its first field is the step, as for all
    Py_ssize_t step
    int dtype
    LoopEntry* entry         # NULL: add


cdef void reduce_at(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    # any dtype and any binary loop, element by element, since targets may repeat
    cdef OneByOne* o = <OneByOne*>data
    cdef const char* index = args[0]
    cdef char* source = args[1]
    cdef char* to = args[2]
    cdef char* inner[3]
    cdef Py_ssize_t none[3]
    cdef Py_ssize_t i, one = 1, item = ITEMSIZE[o.dtype]
    none[0] = none[1] = none[2] = item
    for i in range(count[0]):
        inner[0] = inner[2] = to + (<const int64_t*>index)[0] * o.step
        inner[1] = source
        if o.entry == NULL:
            add_run(o.dtype, 1, inner[0], item, source, item)
        else:
            o.entry.inner(inner, &one, none, o.entry.data)
        index += strides[0]
        source += strides[1]
        to += strides[2]


cdef InnerLoop gather_loop(int itemsize) noexcept nogil:
    if itemsize == 4:
        return gather_4
    if itemsize == 8:
        return gather_8
    if itemsize == 1:
        return gather_1
    if itemsize == 2:
        return gather_2
    return gather_16


cdef InnerLoop scatter_loop(int itemsize) noexcept nogil:
    if itemsize == 4:
        return scatter_4
    if itemsize == 8:
        return scatter_8
    if itemsize == 1:
        return scatter_1
    if itemsize == 2:
        return scatter_2
    return scatter_16


cdef InnerLoop add_loop(int dtype) noexcept nogil:
    if dtype == FLOAT32:
        return add_at_f4
    if dtype == FLOAT64:
        return add_at_f8
    if dtype == COMPLEX64:
        return add_at_c8
    if dtype == COMPLEX128:
        return add_at_c16
    if dtype == INT64:
        return add_at_i8
    return reduce_at


cdef int fail_sizes(const char* operation, Array* index, int ndim, const Py_ssize_t* sizes, int dim, Array* src) noexcept nogil:
    cdef char have[200]
    cdef char want[200]
    cdef char other[200]
    cdef char text[800]
    shape_text(have, sizeof(have), index.ndim, index.shape)
    shape_text(want, sizeof(want), ndim, sizes)
    if src == NULL:
        snprintf(text, sizeof(text), "%s(): Size does not match: expected index %s to be no larger than self %s apart from dimension %d", operation, have, want, dim)
    else:
        shape_text(other, sizeof(other), src.ndim, src.shape)
        snprintf(text, sizeof(text), "%s(): Expected index %s to be no larger than self %s apart from dimension %d and to be no larger size than src %s", operation, have, want, dim, other)
    return fail(ERR_RUNTIME, text)


cdef int check_index(const char* operation, Array* index, int ndim, const Py_ssize_t* sizes, int dim, Array* src) noexcept nogil:
    # the rules that gather and scatter share; src NULL: none to compare with
    cdef int d
    cdef bint wrong = False
    if index.dtype != INT64 and index.dtype != INT32:
        return fail_s(ERR_RUNTIME, "%s(): Expected dtype int32/int64 for index, and it is %s", operation, dtype_cname(index.dtype), NULL)
    if (index.ndim if index.ndim > 0 else 1) != (ndim if ndim > 0 else 1):
        return fail_s(ERR_RUNTIME, "%s(): Index tensor must have the same number of dimensions as %s tensor", operation, "input" if src == NULL else "self", NULL)
    if src != NULL and (index.ndim if index.ndim > 0 else 1) != (src.ndim if src.ndim > 0 else 1):
        return fail_s(ERR_RUNTIME, "%s(): Index tensor must have the same number of dimensions as src tensor", operation, NULL, NULL)
    for d in range(index.ndim):
        if d != dim and ndim > 0 and index.shape[d] > sizes[d]:
            wrong = True
        if src != NULL and index.shape[d] > (src.shape[d] if src.ndim > 0 else 1):
            wrong = True
    if wrong:
        return fail_sizes(operation, index, ndim, sizes, dim, src)
    return 0


cdef void walk(Array* index, char* small, const Py_ssize_t* small_strides, int ndim, char* large, const Py_ssize_t* large_strides, int dim, InnerLoop inner, void* data) noexcept nogil:
    # index: contiguous int64. large: ndim dims (0: a single element), not moved along dim by the loop; small_strides: over index's shape
    cdef Loop it
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int d
    if index.numel == 0:
        return
    for d in range(index.ndim):
        strides[d] = 0 if ndim == 0 or d == dim else large_strides[d]
    loop_init(&it, index.ndim, index.shape)
    loop_add(&it, index)
    loop_add_strided(&it, small, small_strides)
    loop_add_strided(&it, large, strides)
    loop_ready(&it)
    loop_run(&it, inner, data)


cdef Array* gather(Array* a, Py_ssize_t dim, Array* index) noexcept nogil:
    cdef Array* at
    cdef Array* result
    cdef Py_ssize_t step, size
    cdef int d
    if a == NULL or index == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return NULL
    if index.numel == 0:
        return array_empty(a.dtype, index.ndim, index.shape)
    if check_index("gather", index, a.ndim, a.shape, d, NULL) < 0:
        return NULL
    at = positions(index)
    if at == NULL:
        return NULL
    size = a.shape[d] if a.ndim > 0 else 1
    step = a.strides[d] if a.ndim > 0 else 0
    result = NULL
    if check_positions(at, 0, size, d, ERR_RUNTIME, "gather(): index %ld is out of bounds for dimension %ld with size %ld") == 0:
        result = array_empty(a.dtype, index.ndim, index.shape)
    if result != NULL:
        walk(at, result.data, result.strides, a.ndim, a.data, a.strides, d, gather_loop(ITEMSIZE[a.dtype]), &step)
    array_decref(at)
    return result


cdef int scatter_into(Array* target, Py_ssize_t dim, Array* index, Array* src, Py_ssize_t reduce, const char* operation) noexcept nogil:
    cdef Py_ssize_t still[MAX_DIMS]
    cdef OneByOne data
    cdef char number[16]
    cdef Array* at
    cdef Array* copy = NULL
    cdef Array* compared = NULL
    cdef InnerLoop inner
    cdef bint single = src == NULL or src.flags & WRAPPED != 0
    cdef int d, status = -1
    if target == NULL or index == NULL:
        return -1
    if not single:
        compared = src
    d = normalize_dim(dim, target.ndim)
    if d < 0:
        return -1
    if reduce < 0 or reduce > SCATTER_MINIMUM:
        return fail_s(ERR_RUNTIME, "%s(): reduce argument must be either add or multiply, or amax or amin", operation, NULL, NULL)
    if not single and src.dtype != target.dtype:
        return fail_s(ERR_RUNTIME, "%s(): Expected self.dtype to be equal to src.dtype, got %s and another; cast src", operation, dtype_cname(target.dtype), NULL)
    if index.numel == 0:
        return 0
    if check_index(operation, index, target.ndim, target.shape, d, compared) < 0:
        return -1
    data.step = target.strides[d] if target.ndim > 0 else 0
    data.dtype = target.dtype
    data.entry = NULL
    if reduce == SCATTER_SET:
        inner = scatter_loop(ITEMSIZE[target.dtype])
    elif reduce == SCATTER_ADD:
        inner = add_loop(target.dtype)
    else:
        inner = reduce_at
        data.entry = ufunc_loop(UF_MUL if reduce == SCATTER_MULTIPLY else UF_MAXIMUM if reduce == SCATTER_MAXIMUM else UF_MINIMUM, target.dtype)
        if data.entry.inner == NULL or (reduce != SCATTER_MULTIPLY and is_complex_code(target.dtype)):
            return fail_s(ERR_RUNTIME, "%s(): this reduction is not there for %s", operation, dtype_cname(target.dtype), NULL)
    at = positions(index)
    if at == NULL:
        return -1
    status = check_positions(at, 0, target.shape[d] if target.ndim > 0 else 1, d, ERR_RUNTIME, "scatter(): index %ld is out of bounds for dimension %ld with size %ld")
    if status == 0 and memory_overlaps(target, at):
        copy = clone(at)
        array_decref(at)
        at = copy
        copy = NULL
        status = 0 if at != NULL else -1
    if status == 0 and single:
        memset(still, 0, sizeof(still))
        memset(number, 0, sizeof(number))
        if src != NULL:
            convert_element(src.dtype, src.data, target.dtype, number)
        walk(at, number, still, target.ndim, target.data, target.strides, d, inner, &data)
    elif status == 0:
        if memory_overlaps(target, src):
            copy = src = clone(src)
        if src == NULL:
            status = -1
        else:
            if src.ndim == 0:
                memset(still, 0, sizeof(still))
            walk(at, src.data, src.strides if src.ndim > 0 else still, target.ndim, target.data, target.strides, d, inner, &data)
    array_decref(copy)
    array_decref(at)
    return status


cdef Array* owned_copy(Array* a) noexcept nogil:
    # contiguous, as torch's results are
    cdef Array* copy
    if a == NULL:
        return NULL
    copy = array_empty(a.dtype, a.ndim, a.shape)
    if copy != NULL and copy_into(copy, a) != 0:
        array_decref(copy)
        return NULL
    return copy


cdef Array* result_of(Array* copy, int status) noexcept nogil:
    # copy where the in-place kernel succeeded on it
    if status < 0:
        array_decref(copy)
        return NULL
    return copy


cdef int scatter_(Array* target, Py_ssize_t dim, Array* index, Array* src) noexcept nogil:
    return scatter_into(target, dim, index, src, SCATTER_SET, "scatter")


cdef Array* scatter(Array* a, Py_ssize_t dim, Array* index, Array* src) noexcept nogil:
    cdef Array* copy = owned_copy(a)
    return result_of(copy, scatter_(copy, dim, index, src))


cdef int scatter_add_(Array* target, Py_ssize_t dim, Array* index, Array* src) noexcept nogil:
    return scatter_into(target, dim, index, src, SCATTER_ADD, "scatter_add")


cdef Array* scatter_add(Array* a, Py_ssize_t dim, Array* index, Array* src) noexcept nogil:
    cdef Array* copy = owned_copy(a)
    return result_of(copy, scatter_add_(copy, dim, index, src))


cdef int scatter_by_(Array* target, Py_ssize_t dim, Array* index, Array* src, Py_ssize_t reduce) noexcept nogil:
    return scatter_into(target, dim, index, src, reduce, "scatter")


cdef Array* scatter_by(Array* a, Py_ssize_t dim, Array* index, Array* src, Py_ssize_t reduce) noexcept nogil:
    cdef Array* copy = owned_copy(a)
    return result_of(copy, scatter_by_(copy, dim, index, src, reduce))


cdef Array* gather_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Array* index) noexcept nogil:
    cdef Array* zeros
    if grad == NULL or index == NULL:
        return NULL
    zeros = array_zeros(grad.dtype, sizes.n, sizes.v)
    return result_of(zeros, scatter_into(zeros, dim, index, grad, SCATTER_ADD, "gather_backward"))


cdef Array* value_selecting_backward(Array* grad, Py_ssize_t dim, Array* indices, const IntList* sizes, bint keepdim) noexcept nogil:
    cdef Array* zeros
    cdef Array* g = NULL
    cdef Array* at = NULL
    cdef int d, status = -1
    if grad == NULL or indices == NULL:
        return NULL
    d = normalize_dim(dim, sizes.n)
    if d < 0:
        return NULL
    zeros = array_zeros(grad.dtype, sizes.n, sizes.v)
    if keepdim or sizes.n == 0:
        status = scatter_into(zeros, d, indices, grad, SCATTER_SET, "value_selecting_backward")
    else:
        g = unsqueeze(grad, d)
        at = unsqueeze(indices, d)
        if g != NULL and at != NULL:
            status = scatter_into(zeros, d, at, g, SCATTER_SET, "value_selecting_backward")
    array_decref(g)
    array_decref(at)
    return result_of(zeros, status)


# ---- one position for whole slices ----------------------------------------------------------------------------------


cdef int plan_vector(Plan* p, const char* operation, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int dim, Array* index, bint negative, int kind, const char* bounds) noexcept nogil:
    # checks a vector (or 0-d) of positions and makes the plan; 0-d arrays count as one dim of one element
    cdef Array* at
    cdef Py_ssize_t one = 1, none = 0, size
    cdef int status
    if index.dtype != INT64 and index.dtype != INT32:
        return fail_s(ERR_RUNTIME, "%s(): Expected dtype int32/int64 for index but got: %s", operation, dtype_cname(index.dtype), NULL)
    size = shape[dim] if ndim > 0 else 1
    at = positions(index)
    if at == NULL:
        return -1
    status = check_positions(at, -size if negative else 0, size, dim, kind, bounds)
    if status == 0:
        status = plan_dim(p, ndim, shape, strides, dim, at) if ndim > 0 else plan_dim(p, 1, &one, &none, 0, at)
    array_decref(at)
    return status


cdef int check_vector(const char* operation, Array* index) noexcept nogil:
    if index.ndim > 1:
        return fail_s(ERR_INDEX, "%s(): Index is supposed to be a vector (it should have dimension 1 or 0)", operation, NULL, NULL)
    return 0


cdef Array* index_select(Array* a, Py_ssize_t dim, Array* index) noexcept nogil:
    cdef Plan p
    cdef Array* result
    cdef int d
    if a == NULL or index == NULL or check_vector("index_select", index) < 0:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return NULL
    if a.ndim == 0 and index.numel != 1:
        fail_i(ERR_RUNTIME, "index_select(): Index to scalar can have only 1 value, got %ld value(s)", index.numel, 0, 0)
        return NULL
    if plan_vector(&p, "index_select", a.ndim, a.shape, a.strides, d, index, False, ERR_INDEX,
                   "index_select(): index out of range in self (INDICES element is out of DATA bounds): position %ld of dimension %ld with size %ld") < 0:
        return NULL
    result = array_empty(a.dtype, p.ndim if a.ndim > 0 else 0, p.shape)
    if result != NULL:
        plan_read(&p, ITEMSIZE[a.dtype], a.data, result.data)
    plan_free(&p)
    return result


cdef int check_slices(const char* operation, Array* target, int dim, Array* index, Array* source) noexcept nogil:
    cdef int d
    cdef Py_ssize_t along
    cdef char have[200]
    cdef char want[200]
    if check_vector(operation, index) < 0:
        return -1
    if source.ndim > 0 and target.ndim > 0 and source.ndim != target.ndim:
        return fail_s(ERR_INDEX if operation[6] == c'c' else ERR_RUNTIME, "%s(): source and destination must have the same number of dimensions (their dimensionality must match)", operation, NULL, NULL)
    along = source.shape[dim] if source.ndim > 0 else 1
    if index.numel != along:
        if operation[6] == c'c':         # index_copy: torch's type differs
            return fail_i(ERR_INDEX, "index_copy_(): Number of indices (%ld) should be equal to source.size(dim) (%ld)", index.numel, along, 0)
        return fail_i(ERR_RUNTIME if target.ndim > 0 else ERR_INDEX, "index_add_(): Number of indices (%ld) should be equal to source.size(dim): (%ld), for dim: %ld", index.numel, along, dim)
    for d in range(target.ndim if source.ndim > 0 else 0):
        if d != dim and source.shape[d] != target.shape[d]:
            shape_text(have, sizeof(have), target.ndim, target.shape)
            shape_text(want, sizeof(want), source.ndim, source.shape)
            return fail_s(ERR_RUNTIME, "%s(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = %s source.shape = %s", operation, have, want)
    if source.ndim == 0:
        for d in range(target.ndim):
            if d != dim and target.shape[d] != 1:
                return fail_s(ERR_RUNTIME, "%s(): a source without dimensions needs a tensor with one", operation, NULL, NULL)
    return 0


cdef int write_slices(Plan* p, Array* target, Array* source, bint add) noexcept nogil:
    cdef Py_ssize_t still[MAX_DIMS]
    cdef Array* copy = NULL
    cdef int status
    if memory_overlaps(target, source):
        copy = source = clone(source)
        if copy == NULL:
            return -1
    if source.ndim == 0:
        memset(still, 0, sizeof(still))
    status = plan_write(p, target.dtype, target.data, source.data, source.strides if source.ndim > 0 else still, add)
    array_decref(copy)
    return status


cdef int index_add_(Array* target, Py_ssize_t dim, Array* index, Array* source, Array* alpha) noexcept nogil:
    cdef Plan p
    cdef Array* scaled = NULL
    cdef Array* fitting = NULL
    cdef int d, status = -1
    if target == NULL or index == NULL or source == NULL:
        return -1
    d = normalize_dim(dim, target.ndim)
    if d < 0 or check_slices("index_add_", target, d, index, source) < 0:
        return -1
    if source.dtype != target.dtype:
        return fail_s(ERR_RUNTIME, "index_add_(): self (%s) and source (%s) must have the same scalar type; cast the source", dtype_cname(target.dtype), dtype_cname(source.dtype), NULL)
    if plan_vector(&p, "index_add_", target.ndim, target.shape, target.strides, d, index, False, ERR_RUNTIME,
                   "index_add_(): index out of range in self: position %ld of dimension %ld with size %ld") < 0:
        return -1
    if alpha != NULL:
        scaled = mul(source, alpha)
        fitting = cast(scaled, target.dtype) if scaled != NULL else NULL
        source = fitting
    if source != NULL:
        status = write_slices(&p, target, source, True)
    array_decref(scaled)
    array_decref(fitting)
    plan_free(&p)
    return status


cdef Array* index_add(Array* a, Py_ssize_t dim, Array* index, Array* source, Array* alpha) noexcept nogil:
    cdef Array* copy = owned_copy(a)
    return result_of(copy, index_add_(copy, dim, index, source, alpha))


cdef Array* index_select_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Array* index) noexcept nogil:
    cdef Array* zeros
    if grad == NULL or index == NULL:
        return NULL
    zeros = array_zeros(grad.dtype, sizes.n, sizes.v)
    return result_of(zeros, index_add_(zeros, dim, index, grad, NULL))


cdef int index_copy_(Array* target, Py_ssize_t dim, Array* index, Array* source) noexcept nogil:
    cdef Plan p
    cdef int d, status
    if target == NULL or index == NULL or source == NULL:
        return -1
    d = normalize_dim(dim, target.ndim)
    if d < 0:
        return -1
    if check_vector("index_copy_", index) < 0:
        return -1
    if source.ndim == 0 and index.numel != 1:
        return fail_i(ERR_INDEX, "index_copy_(): When source is scalar, index should have one element (got %ld)", index.numel, 0, 0)
    if index.dtype != INT64:
        return fail_s(ERR_RUNTIME, "index_copy_(): Expected a long tensor for index, but got %s", dtype_cname(index.dtype), NULL, NULL)
    if check_slices("index_copy_", target, d, index, source) < 0:
        return -1
    if source.dtype != target.dtype:
        return fail_s(ERR_RUNTIME, "index_copy_(): self and source expected to have the same dtype, but got (self) %s and (source) %s; cast the source",
                      dtype_cname(target.dtype), dtype_cname(source.dtype), NULL)
    if plan_vector(&p, "index_copy_", target.ndim, target.shape, target.strides, d, index, False, ERR_INDEX,
                   "index_copy_(): index %ld is out of bounds for dimension %ld with size %ld") < 0:
        return -1
    status = write_slices(&p, target, source, False)
    plan_free(&p)
    return status


cdef Array* index_copy(Array* a, Py_ssize_t dim, Array* index, Array* source) noexcept nogil:
    cdef Array* copy = owned_copy(a)
    return result_of(copy, index_copy_(copy, dim, index, source))


cdef int index_fill_(Array* target, Py_ssize_t dim, Array* index, Array* value) noexcept nogil:
    cdef Plan p
    cdef Py_ssize_t still[MAX_DIMS]
    cdef char number[16]
    cdef int d, status
    if target == NULL or index == NULL:
        return -1
    d = normalize_dim(dim, target.ndim)
    if d < 0:
        return -1
    if index.dtype != INT64:
        return fail_s(ERR_INDEX, "index_fill_(): Expected dtype int64 for index, and it is %s", dtype_cname(index.dtype), NULL, NULL)
    if index.ndim > 1:
        return fail_i(ERR_RUNTIME, "index_fill_(): Index has to be a vector/scalar, and it has %ld dimensions", index.ndim, 0, 0)
    memset(number, 0, sizeof(number))
    if value != NULL:
        if value.ndim > 0:
            return fail_i(ERR_RUNTIME, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %ld dimension(s)", value.ndim, 0, 0)
        if is_complex_code(value.dtype) and not is_complex_code(target.dtype):
            return fail(ERR_RUNTIME, "index_fill_(): Converting complex Scalar to non-complex type is not supported")
        if check_value(value, target.dtype) < 0:
            return -1
        convert_element(value.dtype, value.data, target.dtype, number)
    if plan_vector(&p, "index_fill_", target.ndim, target.shape, target.strides, d, index, True, ERR_INDEX,
                   "index_fill_(): index %ld is out of bounds for dimension %ld with size %ld") < 0:
        return -1
    memset(still, 0, sizeof(still))
    status = plan_write(&p, target.dtype, target.data, number, still, False)
    plan_free(&p)
    return status


cdef Array* index_fill(Array* a, Py_ssize_t dim, Array* index, Array* value) noexcept nogil:
    cdef Array* copy = clone(a)
    return result_of(copy, index_fill_(copy, dim, index, value))
