# out=: results written into tensors of the caller. Contract: out_argument.pxd.
#
# As in torch such a write is outside of the graph, so it is refused where a gradient would be lost. All checks come before the first write.

from cygrad._warnings import warn
from cygrad._core.array cimport Array, array_empty, array_view, same_shape, shape_text
from cygrad._core.atomics cimport atomic_load
from cygrad._core.dtypes cimport BOOL, ITEMSIZE, dtype_cname, is_complex_code, is_float_code
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward cimport forward_on, forward_open, tangent_of
from cygrad._core.grad_mode cimport grad_enabled, set_grad_enabled, set_thread_modes, thread_modes
from cygrad._core.kernels.copy cimport copy_into
from cygrad._core.inplace cimport inplace_check_recorded, overlap_check, version_bump
from cygrad._core.tensor cimport Tensor, array_replace, needs_grad

cdef enum:
    ROOM = 32


cdef bint has_out(PyObject* kwnames) noexcept:
    cdef Py_ssize_t i
    cdef tuple names = <tuple>kwnames
    for i in range(len(names)):
        if <str>names[i] == "out":
            return True
    return False


cdef bint any_gradient(object value) noexcept:
    if isinstance(value, Tensor):
        return needs_grad(<Tensor>value)
    if isinstance(value, (list, tuple)):
        for part in value:
            if isinstance(part, Tensor) and needs_grad(<Tensor>part):
                return True
    return False


cdef bint any_tangent(object value) except -1:
    if isinstance(value, Tensor):
        return tangent_of(<Tensor>value) is not None
    if isinstance(value, (list, tuple)):
        for part in value:
            if isinstance(part, Tensor) and tangent_of(<Tensor>part) is not None:
                return True
    return False


cdef object out_call(BindingFunction function, const char* name, PyObject** args, Py_ssize_t nargs, PyObject* kwnames):
    cdef PyObject* given[32]
    cdef tuple names = <tuple>kwnames
    cdef list left = []
    cdef Py_ssize_t i, n = nargs
    cdef object out = None
    cdef int modes = thread_modes()
    cdef tuple outs, rest
    if nargs + len(names) > ROOM:
        raise TypeError(f"cygrad: {name.decode()}() takes at most {ROOM} arguments")
    for i in range(nargs):
        given[i] = args[i]
    for i in range(len(names)):
        if <str>names[i] == "out":
            out = <object>args[nargs + i]
        else:
            given[n] = args[nargs + i]
            n += 1
            left.append(names[i])
    rest = tuple(left)
    if out is None:
        return function(NULL, given, nargs, <PyObject*>rest if left else NULL)
    outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    for o in outs:
        if not isinstance(o, Tensor):
            raise TypeError(f"cygrad: {name.decode()}(): argument 'out' must be Tensor, not {type(o).__name__}")
    if forward_open and forward_on():
        lost = any_tangent(outs)
        for i in range(n):
            lost = lost or any_tangent(<object>given[i])
        if lost:
            raise NotImplementedError(f"cygrad: {name.decode()}(): Trying to use forward AD with {name.decode()}_out that does not support it because it is an out= function: "
                                      "leave out= away")
    if grad_enabled():
        lost = any_gradient(outs)
        for i in range(n):
            lost = lost or any_gradient(<object>given[i])
        if lost:
            raise RuntimeError(f"cygrad: {name.decode()}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad. "
                               "Leave out= away, or call it under no_grad()")
    set_grad_enabled(False)
    try:
        result = function(NULL, given, nargs, <PyObject*>rest if left else NULL)
    finally:
        set_thread_modes(modes)
    results = tuple(result) if isinstance(result, tuple) else (result,)
    if len(results) != len(outs) or (isinstance(result, tuple) != isinstance(out, (tuple, list))):
        raise TypeError(f"cygrad: {name.decode()}(): argument 'out' must be {len(results)} tensors, as many as the function returns" if isinstance(result, tuple)
                        else f"cygrad: {name.decode()}(): argument 'out' must be Tensor, not {type(out).__name__}")
    for i in range(len(outs)):
        check(outs[i], results[i], name)
        for k in range(n):
            if isinstance(<object>given[k], Tensor):
                if <object>given[k] is outs[i] and not same_shape((<Tensor>outs[i]).a, (<Tensor>results[i]).a):
                    raise RuntimeError(f"cygrad: {name.decode()}(): output with shape {list(outs[i].shape)} doesn't match the broadcast shape {list(results[i].shape)}; "
                                       "out= cannot be resized where it is read, too")
                overlap_check(outs[i], <Tensor>given[k], False, name)
    for i in range(len(outs)):
        write(outs[i], results[i], name)
    if not isinstance(result, tuple):
        return out
    return outs if type(result) is tuple else type(result)(*outs)


cdef inline int category(int t) noexcept:
    return 0 if t == BOOL else 3 if is_complex_code(t) else 2 if is_float_code(t) else 1


cdef int check(Tensor out, Tensor result, const char* name) except -1:
    if category(result.a.dtype) > category(out.a.dtype):
        raise RuntimeError(f"cygrad: {name.decode()}(): result type {dtype_cname(result.a.dtype).decode()} can't be cast to the desired output type "
                           f"{dtype_cname(out.a.dtype).decode()}; give an out= of the result's dtype")
    if not fits(out, result.a) and (out.a.storage.owner != NULL or out.a.storage.shown):
        raise RuntimeError(f"cygrad: {name.decode()}(): Trying to resize storage that is not resizable: an ndarray or another library sees the memory of out=, which is too small "
                           f"for a result of shape {list(result.shape)}")
    return inplace_check_recorded(out, False, name)


cdef bint fits(Tensor out, Array* like) noexcept:
    # The memory from the first element on has room.
    return out.a.data + like.numel * ITEMSIZE[out.a.dtype] <= out.a.storage.data + out.a.storage.nbytes


cdef int resize(Tensor out, Array* like) except -1:
    # In its own memory where that is large enough, so that tensors which share it see the result, too.
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t step = ITEMSIZE[out.a.dtype]
    cdef int i
    if not fits(out, like):
        return array_replace(out, array_empty(out.a.dtype, like.ndim, like.shape))
    for i in range(like.ndim - 1, -1, -1):
        strides[i] = step
        step *= like.shape[i]
    return array_replace(out, array_view(out.a, out.a.dtype, out.a.data, like.ndim, like.shape, strides))


cdef int write(Tensor out, Tensor result, const char* name) except -1:
    cdef char have[200]
    cdef char want[200]
    cdef long version
    if not same_shape(out.a, result.a):
        if out.a.numel:
            shape_text(have, sizeof(have), out.a.ndim, out.a.shape)
            shape_text(want, sizeof(want), result.a.ndim, result.a.shape)
            warn(f"cygrad: {name.decode()}(): an output with one or more elements was resized since it had shape {have.decode()}, which does not match the required "
                          f"output shape {want.decode()}. Give a tensor of that shape, or of no elements.", UserWarning)
        version = atomic_load(&out.version.value)
        resize(out, result.a)
        out.version.value = version
    if copy_into(out.a, result.a) != 0:
        raise_pending()
    return version_bump(out, name)
