# Tensor: an Array with its place in the graph. Contract and notes: tensor.pxd. Operations are generated and installed as methods; operators come
# through the table `operators`; how tensors are made from Python data is in creation.pyx, what they give to NumPy in interop.pyx.

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_DECREF, Py_XDECREF
from cpython.bool cimport PyBool_Check
from cpython.dict cimport PyDict_SetItem
from cygrad._core.array cimport (
    array_incref, array_decref, array_empty, array_alias, same_shape, scalar_bool, scalar_int, scalar_double, scalar_complex,
    CONTIGUOUS, WRAPPED, normalize_dim)
from cygrad._core.atomics cimport atomic_load, atomic_load_ptr, atomic_store_ptr, likely, unlikely
from cygrad._core.device cimport device_object
from cygrad._core.dtypes cimport ITEMSIZE, BOOL, FLOAT32, is_integral_code, is_complex_code, is_float_code, dtype_object
from cygrad._core.errors cimport raise_pending
from cygrad._core.grad_mode cimport grad_enabled, inference_used, thread_modes, MODE_INFERENCE
from cygrad._core.node cimport intlist_free, intlist_save, node_track_late, node_of
from cygrad._core.kernels.formats cimport FORMAT_CONTIGUOUS, lies_as
from cygrad._core.memory cimport process_trylock, process_unlock
from cygrad._core.options cimport format_code
from cygrad._core.size cimport size_new

__all__ = ["Tensor"]

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    object PyUnicode_FromString(const char*)
    void PyType_Modified(PyTypeObject*)
    void* PyLong_AsVoidPtr(object)

cdef extern from *:
    """
    static Py_ssize_t cg_dict_at;
    static traverseproc cg_original_traverse;
    static inquiry cg_original_clear;
    static int cg_traverse(PyObject *o, visitproc visit, void *arg) {
        Py_VISIT(*(PyObject **)((char *)o + cg_dict_at));
        return cg_original_traverse ? cg_original_traverse(o, visit, arg) : 0;
    }
    static int cg_clear(PyObject *o) {
        Py_CLEAR(*(PyObject **)((char *)o + cg_dict_at));
        return cg_original_clear ? cg_original_clear(o) : 0;
    }
    /* Attributes are where a leaf may come to hold what was computed from it. */
    static void (*cg_attributes_hook)(PyObject *);
    static int cg_setattro(PyObject *o, PyObject *name, PyObject *value) {
        int status = PyObject_GenericSetAttr(o, name, value);
        if (!status && *(PyObject **)((char *)o + cg_dict_at)) cg_attributes_hook(o);
        return status;
    }
    static PyObject *cg_get_dict(PyObject *o, void *context) {
        PyObject *d = PyObject_GenericGetDict(o, context);
        if (d) cg_attributes_hook(o);
        return d;
    }
    static PyGetSetDef cg_dict_getset = {"__dict__", cg_get_dict, PyObject_GenericSetDict, 0, 0};
    /* Gives the class instances' dicts at a field of its own: created by Python on the first write, seen by the gc. */
    static int cg_lazy_dict(PyTypeObject *t, Py_ssize_t offset, void (*hook)(PyObject *)) {
        PyObject *d = PyDescr_NewGetSet(t, &cg_dict_getset);
        if (!d) return -1;
        cg_dict_at = offset;
        cg_attributes_hook = hook;
        t->tp_setattro = cg_setattro;
        t->tp_dictoffset = offset;
        cg_original_traverse = t->tp_traverse;
        cg_original_clear = t->tp_clear;
        t->tp_traverse = cg_traverse;
        t->tp_clear = cg_clear;
        int status = PyDict_SetItemString(t->tp_dict, "__dict__", d);
        Py_DECREF(d);
        return status;
    }
    static newfunc cg_original_new;
    static inline void cg_set_new(PyTypeObject *t, void *f) { cg_original_new = t->tp_new; t->tp_new = (newfunc)f; }
    static inline PyObject *cg_call_new(PyTypeObject *t, PyObject *args, PyObject *kw) { return cg_original_new(t, args, kw); }
    """
    ctypedef struct PyTypeDict "PyTypeObject":
        PyObject* tp_dict
    int lazy_dict "cg_lazy_dict"(PyTypeObject* t, Py_ssize_t offset, void (*hook)(PyObject*) noexcept) except -1
    void set_tp_new "cg_set_new"(PyTypeObject* t, void* function)
    object call_original_new "cg_call_new"(PyTypeObject* t, PyObject* args, PyObject* kwargs)

cdef extern from "<sched.h>" nogil:
    int sched_yield()



@cython.freelist(512)
cdef class Tensor:
    """A multi-dimensional array of one dtype that remembers how it was computed.

    Made by functions such as ``cygrad.tensor`` and ``cygrad.zeros``. With ``requires_grad=True``, operations on it are recorded, and ``backward()`` on a
    result fills ``.grad`` of the leaves it was computed from.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args or kwargs:
            from cygrad._core.creation import _legacy_constructor
            _legacy_constructor(self, *args, **kwargs)

    def __dealloc__(self):
        array_decref(self.a)
        array_decref(self.own_version)
        array_decref(self.grad_array)
        intlist_free(self.graph_shape)
        Py_XDECREF(self.attributes)

    # ---- data -------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return size_new(self.a.ndim, self.a.shape)

    def size(self, dim: int | None = None):
        """The shape, or the size of dimension ``dim``. Raises IndexError if there is no such dimension."""
        cdef int d
        if dim is None:
            return size_new(self.a.ndim, self.a.shape)
        d = normalize_dim(dim, self.a.ndim)
        if d < 0:
            raise_pending()
        if self.a.ndim == 0:
            raise IndexError("cygrad: Tensor.size: dimension specified as %d but tensor has no dimensions" % dim)
        return self.a.shape[d]

    def stride(self, dim: int | None = None):
        """How many elements lie between neighbours along each dimension (or along ``dim``)."""
        cdef int d, i
        cdef Py_ssize_t item = ITEMSIZE[self.a.dtype]
        if dim is None:
            return tuple([self.a.strides[i] // item for i in range(self.a.ndim)])
        d = normalize_dim(dim, self.a.ndim)
        if d < 0:
            raise_pending()
        if self.a.ndim == 0:
            raise IndexError("cygrad: Tensor.stride: dimension specified as %d but tensor has no dimensions" % dim)
        return self.a.strides[d] // item

    def dim(self) -> int:
        """The number of dimensions."""
        return self.a.ndim

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.a.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.a.numel

    @property
    def dtype(self):
        """The dtype of the elements."""
        return dtype_object(self.a.dtype)

    @property
    def device(self):
        """Where the memory lies."""
        return device_object(self.a.storage.device)

    def is_contiguous(self, *, memory_format: object = None) -> bool:
        """Whether the elements lie in memory without gaps, in C order or as ``memory_format`` says."""
        if memory_format is None:
            return self.a.flags & CONTIGUOUS != 0
        return lies_as(self.a, format_code(memory_format, FORMAT_CONTIGUOUS, b"is_contiguous"))

    def storage_offset(self) -> int:
        """The position of the first element in its storage, in elements."""
        return (self.a.data - self.a.storage.data) // ITEMSIZE[self.a.dtype]

    def data_ptr(self) -> int:
        """The address of the first element (0 for tensors without elements)."""
        return <size_t>self.a.data if self.a.numel else 0

    def is_floating_point(self) -> bool:
        """Whether the dtype is float16, float32 or float64."""
        return is_float_code(self.a.dtype)

    def is_complex(self) -> bool:
        """Whether the dtype is complex64 or complex128."""
        return is_complex_code(self.a.dtype)

    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return dtype_object(self.a.dtype).is_signed

    @property
    def is_cuda(self) -> bool:
        """Whether the memory lies on a CUDA device."""
        return self.a.storage.device & 0xff == 1

    # ---- graph ------------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor. Settable on leaves of floating-point or complex dtype."""
        return needs_grad(self)

    @requires_grad.setter
    def requires_grad(self, value) -> None:                   # (annotated as bool, anything would arrive as one)
        if not PyBool_Check(value):
            raise RuntimeError(f"cygrad: requires_grad must be a bool, not {type(value).__name__}")
        if not is_leaf(self):
            requires_grad_refuse()
        requires_grad_set(self, value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("cygrad: requires_grad must be a bool: it cannot be deleted; set it to False")

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor: gradients end here."""
        grad_fn_fresh(self)
        return is_leaf(self)

    @property
    def grad_fn(self):
        """The Node that computes this tensor's gradient further back; None for leaves."""
        grad_fn_fresh(self)
        return None if is_leaf(self) else self.grad_fn_

    @property
    def output_nr(self) -> int:
        """Which output of its ``grad_fn`` this tensor is."""
        return self.output_nr_

    @property
    def _version(self) -> int:
        """How often the memory was written in place; shared by views and detached aliases. RuntimeError for inference tensors."""
        if self.a.storage.inference:
            raise RuntimeError("cygrad: Inference tensors do not track version counter.")
        return atomic_load(&self.version.value)

    @property
    def _base(self):
        """The tensor this one is a view of, or None."""
        return self.base_

    def is_inference(self) -> bool:
        """Whether this tensor's memory was made in inference mode: it is never saved for backward, and written in inference mode alone."""
        return self.a.storage.inference != 0

    def _is_view(self) -> bool:
        """Whether this tensor is a differentiable view of another one."""
        return self.base_ is not None

    @property
    def grad(self):
        """The accumulated gradient (a tensor of the same shape and dtype), or None."""
        if not is_leaf(self) and not self.retains_grad_ and grad_of(self) is None:
            from cygrad._warnings import warn
            warn("cygrad: the .grad attribute of a Tensor that is not a leaf Tensor is being accessed: it is not filled by backward(). "
                 "Call retain_grad() on the tensor before backward() if you want it.")
        return grad_of(self)

    @grad.setter
    def grad(self, value) -> None:
        cdef Tensor g
        cdef int code
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"cygrad: assigned grad expected to be a Tensor or None but got {type(value).__name__}")
            if value is self:
                raise RuntimeError("cygrad: can't assign Variable as its own grad")
            g = value
            code = gradient_code(self.grad_dtype_, self.a.dtype)
            if code != ANY_DTYPE and g.a.dtype != code:
                raise RuntimeError(f"cygrad: attempting to assign a gradient with dtype '{dtype_object(g.a.dtype)}' to a tensor with grad_dtype '{dtype_object(code)}'; "
                                   "cast it first, or set the tensor's grad_dtype (None allows any)")
            if not same_shape(g.a, self.a):
                raise RuntimeError(f"cygrad: attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size '{list(self.shape)}': both must be the same")
        grad_store(self, value)

    @grad.deleter
    def grad(self) -> None:
        grad_store(self, None)

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient (see ``retain_grad``)."""
        return self.retains_grad_

    def detach(self):
        """A tensor that shares memory and version counter, outside of the graph."""
        return tensor_alias(self)

    def detach_(self):
        """Take this tensor out of the graph in place. RuntimeError for views."""
        if self.base_ is not None:
            raise RuntimeError("cygrad: Can't detach views in-place; use detach() instead")
        graph_shape_drop(self)
        self.grad_fn_ = None
        self.output_nr_ = 0
        self.requires_grad_ = False
        self.retains_grad_ = False
        self.hooks_ = None
        self.tangent_ = None
        return self

    @property
    def data(self):
        """An alias of the memory that is outside of the graph and has a version counter of its own: writes to it are not noticed by autograd."""
        cdef Tensor t = tensor_wrap(array_incref(self.a))
        own_version_set(t, 0)
        return t

    @data.setter
    def data(self, given) -> None:
        cdef long kept = atomic_load(&self.version.value)
        cdef Tensor value
        if not isinstance(given, Tensor):
            raise TypeError(f"cygrad: Variable data has to be a tensor, but got {type(given).__name__}")
        value = given
        if value.a.dtype != self.a.dtype and self.requires_grad_ and is_integral_code(value.a.dtype):
            raise RuntimeError("cygrad: data set to a tensor that requires gradients must be floating point or complex dtype")
        own_version_set(self, kept)      # first: the old memory holds the version that others look at
        array_replace(self, array_incref(value.a))

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("cygrad: Deleting tensor data is not allowed. Delete tensor instead!")

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute the gradients of this tensor with respect to the leaves of its graph and add them to their ``.grad``.

        ``gradient``: the cotangent, of this tensor's shape; may be left out for one element. ``retain_graph``: keep saved tensors for another backward
        (default: ``create_graph``). ``create_graph``: record the backward, for higher derivatives. ``inputs``: accumulate into these tensors alone.
        Raises RuntimeError as ``cygrad.autograd.backward`` does.
        """
        if (gradient is None and inputs is None and create_graph is False and (retain_graph is None or retain_graph is False)
                and needs_grad(self) and self.a.numel == 1 and is_float_code(self.a.dtype)):
            operators.backward_scalar(self, False)
            return
        from cygrad.autograd import backward
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # ---- Python protocol --------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        from cygrad._printing import tensor_repr
        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        if self.a.ndim == 0:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return <Py_ssize_t>(<size_t><void*>self >> 4)

    def __len__(self) -> int:
        if self.a.ndim == 0:
            raise TypeError("cygrad: len() of a 0-d tensor")
        return self.a.shape[0]

    def __iter__(self):
        if self.a.ndim == 0:
            raise TypeError("cygrad: iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self.a.numel != 1:
            raise RuntimeError(f"cygrad: Boolean value of Tensor with {'no' if self.a.numel == 0 else 'more than one'} value{'s' if self.a.numel == 0 else ''} is ambiguous; "
                               "use any() or all(), or compare one element")
        return bool(self.item())

    def __int__(self) -> int:
        return int(real_number(self))

    def __float__(self) -> float:
        warn_of_graph(self)
        return float(real_number(self))

    def __complex__(self) -> complex:
        warn_of_graph(self)
        return complex(only_element(self))

    def __index__(self) -> int:
        if self.a.numel != 1 or not is_integral_code(self.a.dtype):
            raise TypeError("cygrad: only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __contains__(self, element) -> bool:
        if not isinstance(element, (Tensor, int, float, complex)):
            raise RuntimeError(f"cygrad: Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element).__name__}")
        return bool((self == element).any())

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if buffer_hook == NULL:
            raise BufferError("cygrad: the buffer protocol is not available")
        buffer_hook(self, buffer, flags)

    def __neg__(self):
        return operators.neg(self)

    def __pos__(self):
        return self.positive()

    def __abs__(self):
        return operators.absolute(self)

    def __invert__(self):
        return operators.invert(self)

    def __richcmp__(self, other, int op):
        return operators.compare(self, other, op)

    def __getitem__(self, index):
        return operators.binary[OP_GETITEM](self, index)

    def __setitem__(self, index, value):
        operators.set_item(self, index, value)

    def __delitem__(self, index):
        raise TypeError("cygrad: Tensor does not support deleting items")

    def __add__(self, other):
        return operators.binary[OP_ADD](self, other)

    def __radd__(self, other):
        return operators.binary[OP_ADD](other, self)

    def __sub__(self, other):
        return operators.binary[OP_SUB](self, other)

    def __rsub__(self, other):
        return operators.binary[OP_SUB](other, self)

    def __mul__(self, other):
        return operators.binary[OP_MUL](self, other)

    def __rmul__(self, other):
        return operators.binary[OP_MUL](other, self)

    def __matmul__(self, other):
        return operators.binary[OP_MATMUL](self, other)

    def __rmatmul__(self, other):
        return operators.binary[OP_MATMUL](other, self)

    def __truediv__(self, other):
        return operators.binary[OP_DIV](self, other)

    def __rtruediv__(self, other):
        return operators.binary[OP_DIV](other, self)

    def __floordiv__(self, other):
        return operators.binary[OP_FLOORDIV](self, other)

    def __rfloordiv__(self, other):
        return operators.binary[OP_FLOORDIV](other, self)

    def __mod__(self, other):
        return operators.binary[OP_MOD](self, other)

    def __rmod__(self, other):
        return operators.binary[OP_MOD](other, self)

    def __and__(self, other):
        return operators.binary[OP_AND](self, other)

    def __rand__(self, other):
        return operators.binary[OP_AND](other, self)

    def __or__(self, other):
        return operators.binary[OP_OR](self, other)

    def __ror__(self, other):
        return operators.binary[OP_OR](other, self)

    def __xor__(self, other):
        return operators.binary[OP_XOR](self, other)

    def __rxor__(self, other):
        return operators.binary[OP_XOR](other, self)

    def __lshift__(self, other):
        return operators.binary[OP_LSHIFT](self, other)

    def __rlshift__(self, other):
        return operators.binary[OP_LSHIFT](other, self)

    def __rshift__(self, other):
        return operators.binary[OP_RSHIFT](self, other)

    def __rrshift__(self, other):
        return operators.binary[OP_RSHIFT](other, self)

    def __pow__(self, other, modulus):
        if modulus is not None:
            return NotImplemented
        return operators.binary[OP_POW](self, other)

    def __rpow__(self, other, modulus):
        return operators.binary[OP_POW](other, self)

    def __iadd__(self, other):
        return operators.binary[OP_IADD](self, other)

    def __isub__(self, other):
        return operators.binary[OP_ISUB](self, other)

    def __imul__(self, other):
        return operators.binary[OP_IMUL](self, other)

    def __itruediv__(self, other):
        return operators.binary[OP_IDIV](self, other)

    def __ifloordiv__(self, other):
        return operators.binary[OP_IFLOORDIV](self, other)

    def __imod__(self, other):
        return operators.binary[OP_IMOD](self, other)

    def __iand__(self, other):
        return operators.binary[OP_IAND](self, other)

    def __ior__(self, other):
        return operators.binary[OP_IOR](self, other)

    def __ixor__(self, other):
        return operators.binary[OP_IXOR](self, other)

    def __ilshift__(self, other):
        return operators.binary[OP_ILSHIFT](self, other)

    def __irshift__(self, other):
        return operators.binary[OP_IRSHIFT](self, other)

    def __ipow__(self, other):
        return operators.binary[OP_IPOW](self, other)


cdef int warn_of_graph(Tensor t) except -1:
    if needs_grad(t) and grad_enabled():
        from cygrad._warnings import warn
        warn("cygrad: Converting a tensor with requires_grad=True to a scalar loses its graph: no gradient flows through the number. Use tensor.detach() first, "
             "or tensor.item(), if that is meant.")
    return 0


cdef object only_element(Tensor t):
    if t.a.numel != 1:
        raise ValueError(f"cygrad: only one element tensors can be converted to Python scalars, not one of {t.a.numel} elements; index it, or use tolist()")
    return t.item()


cdef object real_number(Tensor t):
    value = only_element(t)
    if isinstance(value, complex):
        if value.imag != 0:
            raise RuntimeError(f"cygrad: value cannot be converted to type double without overflow: {value} is not real; take .real")
        return value.real
    return value


# ---- making ---------------------------------------------------------------------------------------------------------

cdef BufferHook buffer_hook = NULL


cdef Tensor tensor_wrap(Array* a):
    cdef Tensor t
    if unlikely(a == NULL):
        raise_pending()
    t = Tensor.__new__(Tensor)
    t.a = a
    t.version = &a.storage.version
    if unlikely(inference_used) and thread_modes() & MODE_INFERENCE and a.refs == 1 and a.storage.refs == 1:
        a.storage.inference = 1          # memory that nobody else has seen
    return t


cdef PyObject* python_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) except NULL:
    # Python-level construction (subclasses too): never without an Array, whatever __init__ does.
    cdef Tensor t = <Tensor>call_original_new(cls, args, kwargs)
    cdef Py_ssize_t nothing = 0
    t.a = array_empty(FLOAT32, 1, &nothing)
    if t.a == NULL:
        raise_pending()
    t.version = &t.a.storage.version
    Py_INCREF(t)
    return <PyObject*>t


cdef Tensor tensor_number(object number):
    cdef int overflow = 0
    cdef long long v
    if type(number) is float:
        return tensor_wrap(scalar_double(<double>number))
    if type(number) is int:
        v = PyLong_AsLongLongAndOverflow(number, &overflow)
        if overflow:
            raise RuntimeError(f"cygrad: value cannot be converted to type int64_t without overflow: {number}")
        return tensor_wrap(scalar_int(v))
    if isinstance(number, bool):
        return tensor_wrap(scalar_bool(number))
    if isinstance(number, int):
        return tensor_number(int(number))
    if isinstance(number, float):
        return tensor_wrap(scalar_double(<double>number))
    if isinstance(number, complex):
        return tensor_wrap(scalar_complex(number.real, number.imag))
    return None


cdef Tensor as_operand(object obj, const char* operation):
    cdef Tensor t
    if likely(isinstance(obj, Tensor)):
        return <Tensor>obj
    t = tensor_number(obj)
    if t is not None:
        return t
    import numpy
    if isinstance(obj, numpy.generic):
        t = tensor_number(obj.item())
        if t is not None:
            return t
    if isinstance(obj, numpy.ndarray):
        from cygrad._core.interop import from_numpy
        return from_numpy(obj)
    raise TypeError(f"{operation.decode()}(): argument must be Tensor or a number, not {type(obj).__name__}")


cdef Tensor tensor_alias(Tensor t):
    cdef Tensor r = tensor_wrap(array_alias(t.a) if t.a.flags & WRAPPED else array_incref(t.a))
    if t.own_version != NULL:
        r.own_version = array_incref(t.own_version)
        r.version = t.version
    return r


cdef int own_version_set(Tensor t, long value) except -1:
    cdef Array* counter = array_empty(BOOL, 0, NULL)
    cdef Array* old
    if counter == NULL:
        raise_pending()
    counter.storage.version.value = value
    grad_lock_take(t)
    old = t.own_version
    t.own_version = counter
    t.version = &counter.storage.version
    process_unlock(&t.grad_lock)
    array_decref(old)
    return 0


cdef int array_replace(Tensor t, Array* a) except -1:
    cdef Array* old = t.a
    if a == NULL:
        raise_pending()
    if unlikely((t.grad_fn_ is not None or t.accumulator != NULL) and t.graph_shape == NULL and not same_shape(a, old)):
        t.graph_shape = intlist_save(old.shape, old.ndim)
        if t.graph_shape == NULL:
            array_decref(a)
            raise_pending()
    grad_lock_take(t)
    t.a = a
    if t.own_version == NULL:
        t.version = &a.storage.version
    process_unlock(&t.grad_lock)
    array_decref(old)
    return 0


# ---- requires_grad, stale views -------------------------------------------------------------------------------------

cdef int requires_grad_refuse() except -1:
    raise RuntimeError("cygrad: you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
                       "doesn't require differentiation use var_no_grad = var.detach().")


cdef int requires_grad_set(Tensor t, bint value) except -1:
    # Whether a view is a leaf does not change by following its base: one that cannot follow is no reason to refuse.
    if not is_leaf(t):
        if not value:
            requires_grad_refuse()
        return 0
    if value and is_integral_code(t.a.dtype):
        raise RuntimeError(f"cygrad: only Tensors of floating point and complex dtype can require gradients, not {dtype_object(t.a.dtype)}; cast it with .float() first")
    if value and t.a.storage.inference and not thread_modes() & MODE_INFERENCE:
        raise RuntimeError("cygrad: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed; work on a clone() of it")
    if not value:
        t.grad_fn_ = None
    t.requires_grad_ = value
    return 0


cdef int grad_fn_fresh(Tensor t) except -1:
    cdef long now
    if t.base_ is None:
        return 0
    now = atomic_load(&t.version.value)
    if now == t.view_version or (t.grad_fn_ is None and not (<Tensor>t.base_).requires_grad_):
        return 0
    return mutation.rebase_stale(t, now)


# ---- grad of leaves -------------------------------------------------------------------------------------------------

cdef int grad_lock_take(Tensor t) noexcept:
    while not process_trylock(&t.grad_lock):
        with nogil:
            sched_yield()
    return 0


cdef Tensor grad_of(Tensor t):
    cdef Array* waiting
    cdef Tensor made
    if atomic_load_ptr(<void**>&t.grad_array) != NULL:     # a look without the lock, which most reads of .grad do not need
        made = Tensor.__new__(Tensor)
        grad_lock_take(t)
        waiting = t.grad_array
        atomic_store_ptr(<void**>&t.grad_array, NULL)
        if waiting != NULL:
            made.a = waiting
            made.version = &waiting.storage.version
            t.grad_obj = made
        process_unlock(&t.grad_lock)
    return <Tensor>t.grad_obj


cdef int grad_store(Tensor t, object value) except -1:
    cdef Array* waiting
    old = t.grad_obj             # keeps it alive past the lock: its end may run Python
    if value is not None and (<Tensor>value).grad_fn_ is not None and t.accumulator != NULL:
        node_track_late(node_of(t.accumulator))
    grad_lock_take(t)
    waiting = t.grad_array
    atomic_store_ptr(<void**>&t.grad_array, NULL)
    t.grad_obj = value
    process_unlock(&t.grad_lock)
    array_decref(waiting)
    return 0


cdef bint grad_swap(Tensor t, Tensor held, long version, Tensor value) except -1:
    cdef bint swapped
    old = t.grad_obj             # keeps it alive past the lock
    if value.grad_fn_ is not None and t.accumulator != NULL:
        node_track_late(node_of(t.accumulator))
    grad_lock_take(t)
    swapped = t.grad_array == NULL and t.grad_obj is held and (held is None or atomic_load(&held.version.value) == version)
    if swapped:
        t.grad_obj = value
    process_unlock(&t.grad_lock)
    return swapped


# ---- installing -----------------------------------------------------------------------------------------------------

def _install_methods(functions: dict[str, object]) -> None:
    """Add functions (which take the tensor first) and properties to the class Tensor: how floors above give Tensor its operations."""
    cdef PyObject* table = (<PyTypeDict*><PyTypeObject*>Tensor).tp_dict
    for name, function in functions.items():
        PyDict_SetItem(<object>table, name, function)
    PyType_Modified(<PyTypeObject*>Tensor)


cdef void set_buffer_hook(BufferHook hook) noexcept:
    global buffer_hook
    buffer_hook = hook


# ---- the table of operators before operators.pyx fills it --------------------------------------------------------------

cdef int refuse_operators() except -1:
    raise RuntimeError("cygrad: the operations of Tensor are not loaded; import the package cygrad instead of its compiled modules one by one")


cdef object no_binary(object a, object b):
    refuse_operators()


cdef object no_unary(Tensor a):
    refuse_operators()


cdef object no_compare(Tensor a, object b, int op):
    refuse_operators()


cdef int no_set_item(Tensor t, object index, object value) except -1:
    return refuse_operators()


cdef int no_backward(Tensor t, bint keep_graph) except -1:
    return refuse_operators()


cdef void attributes_hook(PyObject* o) noexcept:
    # The leaf may hold anything from now on: its AccumulateGrad may lie on a cycle.
    cdef Tensor t = <Tensor>o
    if t.accumulator != NULL:
        node_track_late(node_of(t.accumulator))


cdef int setup() except -1:
    cdef Tensor probe
    cdef int k
    for k in range(N_OPERATORS):
        operators.binary[k] = no_binary
    operators.neg = operators.invert = operators.absolute = no_unary
    operators.compare = no_compare
    operators.set_item = no_set_item
    operators.backward_scalar = no_backward
    probe = Tensor.__new__(Tensor)
    lazy_dict(<PyTypeObject*>Tensor, <char*>&probe.attributes - <char*><PyObject*>probe, attributes_hook)
    set_tp_new(<PyTypeObject*>Tensor, <void*>python_new)
    return 0

setup()
