# Size: made from a C specification of a type, not by a class statement. Every `x.shape[0]` goes through it: a class statement would look up
# __getitem__ as a Python method, and Cython's extension types cannot inherit from tuple, whose objects vary in length. Contract: size.pxd.

from cpython.long cimport PyLong_FromSsize_t
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_SET_ITEM

import operator

cdef extern from "Python.h":
    ctypedef struct PyType_Slot:
        int slot
        void* pfunc
    ctypedef struct PyType_Spec:
        const char* name
        int basicsize
        int itemsize
        unsigned int flags
        PyType_Slot* slots
    ctypedef void* PyCFunction
    ctypedef struct PyMethodDef:
        const char* ml_name
        PyCFunction ml_meth
        int ml_flags
        const char* ml_doc
    object PyType_FromSpecWithBases(PyType_Spec* spec, object bases)
    void PyObject_GC_UnTrack(void* op)
    int Py_TPFLAGS_DEFAULT
    int METH_NOARGS
    int METH_O
    int Py_mp_subscript, Py_sq_repeat, Py_nb_add, Py_tp_new, Py_tp_repr, Py_tp_methods, Py_tp_doc

cdef extern from *:
    """
    #define cg_tuple_subscript(t, key) PyTuple_Type.tp_as_mapping->mp_subscript(t, key)
    #define cg_tuple_repeat(t, n) PyTuple_Type.tp_as_sequence->sq_repeat(t, n)
    #define cg_type_alloc(type, n) ((PyTypeObject *)(type))->tp_alloc((PyTypeObject *)(type), n)
    """
    object tuple_subscript "cg_tuple_subscript"(object t, object key)
    object tuple_repeat "cg_tuple_repeat"(object t, Py_ssize_t n)
    object type_alloc "cg_type_alloc"(object type, Py_ssize_t n)

cdef object Size_type = None
cdef object as_index = operator.index


cdef inline object new_empty(Py_ssize_t n):
    # The entries are ints, which point to nothing: the garbage collector need not walk them.
    cdef object result = type_alloc(Size_type, n)
    PyObject_GC_UnTrack(<void*>result)
    return result


cdef object size_new(int ndim, const Py_ssize_t* v):
    cdef object result = new_empty(ndim)
    cdef object entry
    cdef int i
    for i in range(ndim):
        entry = PyLong_FromSsize_t(v[i])
        Py_INCREF(entry)
        PyTuple_SET_ITEM(result, i, entry)
    return result


cdef object size_from_tuple(tuple t):
    cdef Py_ssize_t n = PyTuple_GET_SIZE(t)
    cdef object result = new_empty(n)
    cdef object entry
    cdef Py_ssize_t i
    for i in range(n):
        entry = <object>PyTuple_GET_ITEM(t, i)
        Py_INCREF(entry)
        PyTuple_SET_ITEM(result, i, entry)
    return result


cdef object checked(object iterable):
    # A Size of the entries, each an int or something with __index__ (a NumPy integer, a tensor of one integer).
    cdef list entries = list(iterable)
    cdef Py_ssize_t i
    for i in range(len(entries)):
        entry = entries[i]
        if type(entry) is not int:
            if isinstance(entry, float) or not hasattr(type(entry), "__index__"):
                raise TypeError(f"cygrad.Size() takes an iterable of 'int' (item {i} is '{type(entry).__name__}')")
            entries[i] = int(as_index(entry))
    return size_from_tuple(tuple(entries))


cdef object size_make(object cls, object args, object kwargs):
    if kwargs is not None and <object>kwargs:
        raise TypeError("cygrad.Size() takes no keyword arguments")
    if len(args) > 1:
        raise TypeError(f"cygrad.Size() expected at most 1 argument, got {len(args)}; give the sizes as one sequence")
    return checked(args[0] if args else ())


# tp_new gets NULL for absent keywords, which Cython's `object` must not be.
cdef PyObject* size_tp_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) except NULL:
    cdef object result = size_make(<object>cls, <object>args, None if kwargs == NULL else <object>kwargs)
    Py_INCREF(result)
    return <PyObject*>result


cdef object size_subscript(object self, object key):
    cdef object item = tuple_subscript(self, key)
    if type(key) is slice:
        return size_from_tuple(tuple(item))
    return item


cdef object size_add(object left, object right):
    # Reached for Size + tuple and tuple + Size: a subclass's slot comes first.
    if not isinstance(left, tuple):
        return NotImplemented
    if not isinstance(right, tuple):
        raise TypeError(f"can only concatenate tuple (not {type(right).__name__}) to cygrad.Size")
    return checked([*left, *right])


cdef object size_repeat(object self, Py_ssize_t times):
    return size_from_tuple(tuple(tuple_repeat(self, times)))


cdef object size_repr(object self):
    return "cygrad.Size([" + ", ".join([str(n) for n in <tuple>self]) + "])"


cdef object size_numel(object self, object unused):
    result = 1
    for n in <tuple>self:
        result *= n
    return result


cdef object size_reduce(object self, object unused):
    return (Size_type, (tuple(self),))


# METH_NOARGS passes NULL as second argument, which Cython's `object` must not be.
cdef PyObject* size_numel_entry(PyObject* self, PyObject* unused) except NULL:
    cdef object result = size_numel(<object>self, None)
    Py_INCREF(result)
    return <PyObject*>result


cdef PyObject* size_reduce_entry(PyObject* self, PyObject* unused) except NULL:
    cdef object result = size_reduce(<object>self, None)
    Py_INCREF(result)
    return <PyObject*>result


cdef PyMethodDef methods[3]
methods[0] = PyMethodDef("numel", <PyCFunction>size_numel_entry, METH_NOARGS, "numel($self, /)\n--\n\nThe number of elements of a tensor of this size: the product of the entries, 1 if there are none.")
methods[1] = PyMethodDef("__reduce__", <PyCFunction>size_reduce_entry, METH_NOARGS, NULL)
methods[2] = PyMethodDef(NULL, NULL, 0, NULL)

cdef PyType_Slot slots[8]
slots[0] = PyType_Slot(Py_mp_subscript, <void*>size_subscript)
slots[1] = PyType_Slot(Py_sq_repeat, <void*>size_repeat)
slots[2] = PyType_Slot(Py_nb_add, <void*>size_add)
slots[3] = PyType_Slot(Py_tp_new, <void*>size_tp_new)
slots[4] = PyType_Slot(Py_tp_repr, <void*>size_repr)
slots[5] = PyType_Slot(Py_tp_methods, <void*>methods)
slots[6] = PyType_Slot(Py_tp_doc, <void*><const char*>"Size(iterable=(), /)\n--\n\nThe sizes of a tensor: a tuple of ints that stays a Size under slicing, + and *.\n\nRaises TypeError if an entry is no int.")
slots[7] = PyType_Slot(0, NULL)

cdef PyType_Spec spec
spec.name = "cygrad.Size"
spec.basicsize = tuple.__basicsize__
spec.itemsize = tuple.__itemsize__
spec.flags = Py_TPFLAGS_DEFAULT
spec.slots = slots
Size_type = PyType_FromSpecWithBases(&spec, (tuple,))
Size = Size_type
