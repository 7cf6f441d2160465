# out=: an operation whose result is written into tensors that the caller gives.
#
# Why apart from the operations: every function has the argument and none needs to know; its binding hands the call over here when it sees the keyword.

from cpython.object cimport PyObject
from cygrad._core.arguments cimport BindingFunction

cdef bint has_out(PyObject* kwnames) noexcept                     # kwnames is a tuple
cdef object out_call(BindingFunction function, const char* name, PyObject** args, Py_ssize_t nargs, PyObject* kwnames)   # the call without out=, its result written there
