# What generated operations share: calling kernels (without the GIL where the work is large), lists of integers, and the set-up of NodeTypes.
#
# Why it exists: generated code is long; whatever is not one operation's own lies here once.

from libc.stdint cimport int64_t
from cygrad._core.array cimport Array, IntList, array_incref, array_decref
from cygrad._core.atomics cimport likely
from cygrad._core.dtypes cimport ITEMSIZE
from cygrad._core.node cimport ApplyC, ApplyRecorded, Node, NodeState, NodeType
from cygrad._core.errors cimport raise_pending_in
from cygrad._core.tensor cimport Tensor, tensor_wrap

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass

cdef enum:
    GIL_ELEMENTS = 32768          # kernels on more elements run without the GIL

cdef enum:
    INT_NONE = -0x7fffffffffffffff   # an optional integer that is None

# Kernels of one to three Arrays. The Arrays are held while the GIL is given up.
ctypedef Array* (*Kernel1)(Array* a) noexcept nogil
ctypedef Array* (*Kernel2)(Array* a, Array* b) noexcept nogil
ctypedef Array* (*Kernel3)(Array* a, Array* b, Array* c) noexcept nogil
cdef Array* run1_large(Kernel1 kernel, Array* a) noexcept
cdef Array* run2_large(Kernel2 kernel, Array* a, Array* b) noexcept
cdef Array* run3_large(Kernel3 kernel, Array* a, Array* b, Array* c) noexcept

cdef inline Array* run1(Kernel1 kernel, Array* a) noexcept:
    if likely(a.numel <= GIL_ELEMENTS):
        return kernel(a)
    return run1_large(kernel, a)

cdef inline Array* run2(Kernel2 kernel, Array* a, Array* b) noexcept:
    if likely(a.numel <= GIL_ELEMENTS and b.numel <= GIL_ELEMENTS):
        return kernel(a, b)
    return run2_large(kernel, a, b)

cdef inline Array* run3(Kernel3 kernel, Array* a, Array* b, Array* c) noexcept:
    if likely(a.numel <= GIL_ELEMENTS and b.numel <= GIL_ELEMENTS and c.numel <= GIL_ELEMENTS):
        return kernel(a, b, c)
    return run3_large(kernel, a, b, c)

# Any other kernel: gil_leave, the call, gil_return. NULL: the GIL was kept.
cdef PyThreadState* gil_leave_large() noexcept
cdef void gil_return_large(PyThreadState* state) noexcept
cdef inline PyThreadState* gil_leave(Py_ssize_t elements) noexcept:
    if likely(elements <= GIL_ELEMENTS):
        return NULL
    return gil_leave_large()
cdef inline void gil_return(PyThreadState* state) noexcept:
    if state != NULL:
        gil_return_large(state)

cdef inline Array* array_of(Tensor t) noexcept:                  # NULL for None
    if t is None:
        return NULL
    return t.a
cdef inline Py_ssize_t elements_of(Array* a) noexcept nogil:
    return 0 if a == NULL else a.numel

# Lists of integers. The functions fill `into` and return it, so that they can be written inside an expression.
cdef IntList NO_INTS
cdef inline const IntList* ints_or_none(const IntList* v) noexcept nogil:       # an optional list that is None counts as an empty one
    if v == NULL:
        return &NO_INTS
    return v
cdef inline const IntList* ints_if(bint test, const IntList* a, const IntList* b) noexcept nogil:
    if test:
        return a
    return b
cdef inline const IntList* ints0(IntList* into) noexcept nogil:
    into.n = 0
    return into
cdef inline const IntList* ints1(IntList* into, Py_ssize_t a) noexcept nogil:
    into.n = 1
    into.v[0] = a
    return into
cdef inline const IntList* ints2(IntList* into, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    into.n = 2
    into.v[0] = a
    into.v[1] = b
    return into
cdef inline const IntList* ints3(IntList* into, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    into.n = 3
    into.v[0] = a
    into.v[1] = b
    into.v[2] = c
    return into
cdef const IntList* ints_sizes(IntList* into, Array* a) noexcept nogil           # the shape
cdef const IntList* ints_strides(IntList* into, Array* a) noexcept nogil         # the strides, in elements
cdef Py_ssize_t size_at(Array* a, Py_ssize_t dim) noexcept nogil                 # size of a dim that may be negative; 1 for 0-d; -1 with IndexError recorded
cdef bint sizes_equal(Array* a, const IntList* sizes) noexcept nogil
cdef bint view_possible(Array* a, const IntList* sizes) noexcept nogil           # view(a, sizes) needs no copy (also true for sizes that do not fit: view says so)
cdef inline Py_ssize_t offset_of(Array* a) noexcept nogil:
    return (a.data - a.storage.data) // ITEMSIZE[a.dtype]

# Numbers in formulas: wrapped 0-d Arrays
cdef Array* number_linear(Array* number, Py_ssize_t a, Py_ssize_t b) noexcept nogil      # a * number + b, wrapped; double precision, integers exactly
cdef bint number_is(Array* number, double value) noexcept nogil
cdef double number_value(Array* number, double default) noexcept nogil           # NULL: default
cdef Py_ssize_t reduced_count(const IntList* sizes, const IntList* dim) noexcept nogil   # elements of a tensor of `sizes` that make one of its reduction
cdef object ints_tuple(const IntList* v)                                         # None for NULL

# Saving values that are no tensors
cdef int val_save_lengths(NodeState* s, int k, list tensors, Py_ssize_t dim) except -1   # sizes along dim; -1 for tensors that cat leaves out
cdef int val_save_ints(NodeState* s, int k, const IntList* v) except -1          # NULL: None
cdef int val_save_sizes(NodeState* s, int k, Tensor t) except -1
cdef int val_save_strides(NodeState* s, int k, Tensor t) except -1
cdef inline int val_save_int_opt(NodeState* s, int k, Py_ssize_t v) noexcept nogil:
    s.vals[k].i = v
    return 0

# Names are given as one comma-separated string ("self,other"); kinds as one character each, as in NodeType.
cdef int node_type_set(NodeType* t, const char* name, ApplyC apply, int n_outputs, const char* saved, const char* saved_kinds, const char* vals, const char* val_kinds) except -1

cdef int node_type_choices(NodeType* t, const char* name, const char* choices) except -1   # _saved_<name> shows the string, not its number
cdef int node_type_constant(NodeType* t, const char* name, object value) except -1       # _saved_<name> is always this

cdef int edge_set_broadcast(Node n, int k, Tensor t) except -1                            # edge_set, and the gradient is always summed to t's shape

# Several results
cdef Array** arrays_new(Py_ssize_t n) except NULL                                # room for n results; arrays_free gives it back
cdef void arrays_free(Array** arrays, Py_ssize_t n) noexcept
cdef list tensors_wrap(Array** arrays, int n)                                    # steals the references
cdef Array** arrays_take(list tensors, const char* operation) except? NULL      # one reference each, in a block of memory; TypeError unless all are Tensors
cdef void arrays_give(Array** arrays, int n) noexcept                            # gives references and block back
cdef bint any_needs_grad(list tensors) noexcept
cdef bint all_inference(list tensors) noexcept
cdef int result_watched(const char* name, Tensor result, list inputs) except -1     # for node_watcher: an operation gave `result`; unrecorded, if it requires no grad
cdef int results_watched(const char* name, list results, list inputs) except -1

# In-place variants: `result` (stolen) is written into self after shape and dtype are checked; self.version is bumped.
cdef int stale_refuse(tuple inputs) except -1                                                  # after a failure: a view among the inputs (tensors, lists of tensors) that cannot follow a write is refused before, as in torch
cdef int inplace_written(Tensor self, int status, const char* operation) except -1             # a kernel has written in place, or failed before it wrote
cdef int inplace_write(Tensor self, Array* result, const char* operation) except -1
cdef Tensor inplace_old(Tensor self)                                             # a copy of the value before the write, for a formula that reads it

# The result of an operation as a Tensor (steals the reference); where it failed, the exception names the operation.
cdef inline Tensor result_wrap(Array* a, const char* operation):
    if a == NULL:
        raise_pending_in(operation)
    return tensor_wrap(a)
