# What generated operations share. Contract: operation.pxd.

from libc.stdlib cimport calloc
from libc.string cimport memset
from cygrad._core.array cimport CONTIGUOUS, scalar_int, scalar_double, scalar_complex, has_sizes, normalize_dim, same_shape, shape_text
from cygrad._core.dtypes cimport dtype_cname, BOOL, INT64, FLOAT64, COMPLEX128, is_complex_code, is_float_code
from cygrad._core.atomics cimport unlikely
from cygrad._core.errors cimport Error, error_take, fail, error_clear, raise_pending, raise_pending_in
from cygrad._core.forward_level cimport forward_hooks, forward_open
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.kernels.copy cimport clone, copy_into
from cygrad._core.kernels.shape cimport infer_sizes, view_strides
from cygrad._core.memory cimport block_alloc, block_free
from cygrad._core.node cimport intlist_save, val_set_ints, node_register, node_watcher
from cygrad._core.inplace cimport version_bump
from cygrad._core.recording cimport edge_set
from cygrad._core.tensor cimport grad_fn_fresh, is_inference, needs_grad, tensor_wrap

cdef extern from "Python.h":
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState*)

cdef list _kept = []       # Python bytes whose memory NodeTypes point into


cdef PyThreadState* gil_leave_large() noexcept:
    return PyEval_SaveThread()


cdef void gil_return_large(PyThreadState* state) noexcept:
    PyEval_RestoreThread(state)


cdef Array* run1_large(Kernel1 kernel, Array* a) noexcept:
    cdef Array* result
    array_incref(a)
    with nogil:
        result = kernel(a)
    array_decref(a)
    return result


cdef Array* run2_large(Kernel2 kernel, Array* a, Array* b) noexcept:
    cdef Array* result
    array_incref(a)
    array_incref(b)
    with nogil:
        result = kernel(a, b)
    array_decref(a)
    array_decref(b)
    return result


cdef Array* run3_large(Kernel3 kernel, Array* a, Array* b, Array* c) noexcept:
    cdef Array* result
    array_incref(a)
    array_incref(b)
    array_incref(c)
    with nogil:
        result = kernel(a, b, c)
    array_decref(a)
    array_decref(b)
    array_decref(c)
    return result


cdef const IntList* ints_sizes(IntList* into, Array* a) noexcept nogil:
    cdef int i
    into.n = 0
    if a != NULL:
        into.n = a.ndim
        for i in range(a.ndim):
            into.v[i] = a.shape[i]
    return into


cdef const IntList* ints_strides(IntList* into, Array* a) noexcept nogil:
    cdef int i
    into.n = 0
    if a != NULL:
        into.n = a.ndim
        for i in range(a.ndim):
            into.v[i] = a.strides[i] // ITEMSIZE[a.dtype]
    return into


cdef Py_ssize_t size_at(Array* a, Py_ssize_t dim) noexcept nogil:
    cdef int d
    if a == NULL:
        return -1
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return -1
    return a.shape[d] if a.ndim else 1


cdef bint sizes_equal(Array* a, const IntList* sizes) noexcept nogil:
    return a != NULL and has_sizes(a, sizes.n, sizes.v)


cdef bint view_possible(Array* a, const IntList* sizes) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    if a == NULL or a.flags & CONTIGUOUS:
        return True
    if infer_sizes(a, sizes, shape) != 0:
        error_clear()
        return True
    return view_strides(a, sizes.n, shape, strides) == 0


cdef Array* number_linear(Array* number, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    if number == NULL:
        return NULL
    if number.dtype == INT64:
        return scalar_int(a * (<int64_t*>number.data)[0] + b)
    if number.dtype == COMPLEX128:
        return scalar_complex(a * (<double*>number.data)[0] + b, a * (<double*>number.data)[1])
    return scalar_double(a * number_value(number, 0.0) + b)


cdef double number_value(Array* number, double default) noexcept nogil:
    if number == NULL:
        return default
    if number.dtype == INT64:
        return <double>(<int64_t*>number.data)[0]
    if number.dtype == FLOAT64 or number.dtype == COMPLEX128:
        return (<double*>number.data)[0]
    return <double>(<unsigned char*>number.data)[0]


cdef bint number_is(Array* number, double value) noexcept nogil:
    if number == NULL:
        return False
    if number.dtype == COMPLEX128 and (<double*>number.data)[1] != 0:
        return False
    return number_value(number, 0.0) == value


cdef Py_ssize_t reduced_count(const IntList* sizes, const IntList* dim) noexcept nogil:
    cdef Py_ssize_t count = 1, d
    cdef int i
    if dim == NULL or dim.n == 0:
        for i in range(sizes.n):
            count *= sizes.v[i]
        return count
    if sizes.n:
        for i in range(dim.n):
            d = dim.v[i]
            count *= sizes.v[d + sizes.n if d < 0 else d]
    return count


cdef object ints_tuple(const IntList* v):
    cdef int i
    if v == NULL:
        return None
    return tuple([v.v[i] for i in range(v.n)])


cdef int val_save_lengths(NodeState* s, int k, list tensors, Py_ssize_t dim) except -1:
    cdef Py_ssize_t n = len(tensors), i
    cdef int ndim = 0, d
    cdef Array* a
    cdef Py_ssize_t* v = <Py_ssize_t*>block_alloc((n + 1) * sizeof(Py_ssize_t))
    if v == NULL:
        raise_pending()
    for i in range(n):
        a = (<Tensor>tensors[i]).a
        if a.ndim > ndim and not (a.ndim == 1 and a.numel == 0):
            ndim = a.ndim
    d = <int>(dim + ndim if dim < 0 else dim)
    for i in range(n):
        a = (<Tensor>tensors[i]).a
        v[i] = -1 if a.ndim == 1 and a.numel == 0 and ndim != 1 else a.shape[d]
    try:
        return val_set_ints(s, k, v, <int>n)
    finally:
        block_free(v, (n + 1) * sizeof(Py_ssize_t))


cdef int val_save_ints(NodeState* s, int k, const IntList* v) except -1:
    if v == NULL:
        s.vals[k].list = NULL
        return 0
    return val_set_ints(s, k, v.v, v.n)


cdef int val_save_sizes(NodeState* s, int k, Tensor t) except -1:
    if t is None:
        s.vals[k].list = NULL
        return 0
    return val_set_ints(s, k, t.a.shape, t.a.ndim)


cdef int val_save_strides(NodeState* s, int k, Tensor t) except -1:
    cdef IntList l
    if t is None:
        s.vals[k].list = NULL
        return 0
    ints_strides(&l, t.a)
    return val_set_ints(s, k, l.v, l.n)


cdef const char** split_names(const char* names, int* count) except? NULL:
    cdef list parts = names.split(b",") if names[0] else []
    cdef const char** out
    cdef int i
    count[0] = <int>len(parts)
    if not parts:
        return NULL
    out = <const char**>calloc(len(parts), sizeof(char*))
    if out == NULL:
        raise MemoryError()
    for i in range(len(parts)):
        _kept.append(parts[i])
        out[i] = parts[i]
    return out


cdef int node_type_set(NodeType* t, const char* name, ApplyC apply, int n_outputs, const char* saved, const char* saved_kinds, const char* vals, const char* val_kinds) except -1:
    memset(t, 0, sizeof(NodeType))
    t.name = name
    t.apply = apply
    t.n_outputs = n_outputs
    t.saved_names = split_names(saved, &t.n_saved)
    t.saved_scalar = saved_kinds
    t.val_names = split_names(vals, &t.n_vals)
    t.val_kinds = val_kinds
    return node_register(t)


cdef int node_type_choices(NodeType* t, const char* name, const char* choices) except -1:
    cls = <object>t.cls
    attribute = "_saved_" + name.decode()
    number = cls.__dict__[attribute]
    texts = (None, *choices.decode().split(","))
    setattr(cls, attribute, property(lambda node: texts[number.__get__(node)]))
    return 0


cdef int node_type_constant(NodeType* t, const char* name, object value) except -1:
    setattr(<object>t.cls, "_saved_" + name.decode(), value)
    return 0


cdef int edge_set_broadcast(Node n, int k, Tensor t) except -1:
    edge_set(n, k, t, NULL)
    if n.s.edges[k].next != NULL and n.s.edges[k].shape == NULL:
        n.s.edges[k].shape = intlist_save(t.a.shape, t.a.ndim)
        if n.s.edges[k].shape == NULL:
            raise_pending()
    return 0


cdef Array** arrays_new(Py_ssize_t n) except NULL:
    cdef Array** arrays = <Array**>block_alloc((n + 1) * sizeof(Array*))
    if arrays == NULL:
        raise_pending()
    return arrays


cdef void arrays_free(Array** arrays, Py_ssize_t n) noexcept:
    block_free(arrays, (n + 1) * sizeof(Array*))


cdef list tensors_wrap(Array** arrays, int n):
    cdef int i
    cdef list out = [None] * n
    for i in range(n):
        out[i] = tensor_wrap(arrays[i])
    return out


cdef Array** arrays_take(list tensors, const char* operation) except? NULL:
    cdef Array** arrays
    cdef Py_ssize_t i, n = len(tensors)
    for i in range(n):
        if not isinstance(tensors[i], Tensor):
            raise TypeError(f"{operation.decode()}(): expected Tensor as element {i} in argument 0, but got {type(tensors[i]).__name__}")
    arrays = <Array**>block_alloc((n + 1) * sizeof(Array*))
    if arrays == NULL:
        raise_pending()
    for i in range(n):
        arrays[i] = array_incref((<Tensor>tensors[i]).a)
    return arrays


cdef void arrays_give(Array** arrays, int n) noexcept:
    cdef int i
    for i in range(n):
        array_decref(arrays[i])
    block_free(arrays, (n + 1) * sizeof(Array*))


cdef bint any_needs_grad(list tensors) noexcept:
    for t in tensors:
        if needs_grad(<Tensor>t):
            return True
    return False


cdef bint all_inference(list tensors) noexcept:
    for t in tensors:
        if not is_inference(<Tensor>t):
            return False
    return True


cdef int result_watched(const char* name, Tensor result, list inputs) except -1:
    return 0 if result.requires_grad_ else node_watcher.unrecorded(name, result.a, inputs)


cdef int results_watched(const char* name, list results, list inputs) except -1:
    for result in results:
        if result is not None:
            result_watched(name, <Tensor>result, inputs)
    return 0


cdef inline int category(int t) noexcept nogil:
    return 0 if t == BOOL else 3 if is_complex_code(t) else 2 if is_float_code(t) else 1


cdef int stale_refuse(tuple inputs) except -1:
    cdef Error failure
    if not grad_enabled():
        return 0
    error_take(&failure)
    for given in inputs:
        for t in (given if isinstance(given, list) else (given,)):
            if isinstance(t, Tensor) and needs_grad(<Tensor>t):
                grad_fn_fresh(<Tensor>t)
    fail(failure.kind, failure.message)
    return 0


cdef int inplace_written(Tensor self, int status, const char* operation) except -1:
    if status != 0:
        raise_pending_in(operation)
    return version_bump(self, operation)


cdef int inplace_write(Tensor self, Array* result, const char* operation) except -1:
    cdef char have[200]
    cdef char want[200]
    cdef int status
    if result == NULL:
        raise_pending()
    try:
        if not same_shape(result, self.a):
            shape_text(have, sizeof(have), result.ndim, result.shape)
            shape_text(want, sizeof(want), self.a.ndim, self.a.shape)
            raise RuntimeError(f"cygrad: {operation.decode()}(): output with shape {want.decode()} doesn't match the broadcast shape {have.decode()}; "
                               "an in-place operation cannot change the shape, use the out-of-place form")
        if category(result.dtype) > category(self.a.dtype):
            raise RuntimeError(f"cygrad: {operation.decode()}(): result type {dtype_cname(result.dtype).decode()} can't be cast to the desired output type "
                               f"{dtype_cname(self.a.dtype).decode()}; cast the tensor first, or use the out-of-place form")
        with nogil:
            status = copy_into(self.a, result)
        if status != 0:
            raise_pending()
        version_bump(self, operation)
    finally:
        array_decref(result)
    return 0


cdef Tensor inplace_old(Tensor self):
    cdef Tensor old = tensor_wrap(clone(self.a))
    if unlikely(forward_open):
        forward_hooks.copy(old, self)
    return old


NO_INTS.n = 0
