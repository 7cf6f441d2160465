# Arguments: matches the Python arguments of a call against the signatures (overloads) of an operation, and converts them to C values.
#
# Note [Bindings]
# A generated binding is one C function for both `cygrad.mul(a, b)` (self is NULL) and `a.mul(b)`, called with CPython's vectorcall convention. It
# matches its arguments with arguments_match, which gives the overload and fills the slots with borrowed references, and then converts each
# slot with the arg_* function of its kind. A slot is NULL where the argument was left out or None; the binding knows the default.
# A Binding holds its signatures as text ("N self;N other;*;S alpha=|...") and parses it at the first call: importing costs nothing for operations
# that are never called. One letter is the kind:
#   T Tensor, N Tensor or number, t/n the same or None, L list of tensors, S number (Scalar), s the same or None, i int, j int or None,
#   I integers (I2: a single number counts for 2), J the same or None, b bool, y True, f float, d dtype, e dtype or None, r string, q string or None
# `@function` or `@method` before them: the signature is one of that form alone. `*` starts the keyword-only ones, `=` marks those that may be left out. An argument called self is called `input` in the function form.

from cpython.object cimport PyObject
from cygrad._core.array cimport IntList
from cygrad._core.tensor cimport Tensor

cdef enum:
    MAX_ARGUMENTS = 12
    MAX_LISTS = 3

cdef struct ArgumentSpec:
    PyObject* name           # interned
    PyObject* numpy_name     # another spelling that is understood (axis for dim), or NULL
    char kind
    char optional            # None is allowed
    char keyword_only
    char has_default
    int length               # of integers: what a single number is repeated to; 0: a single number is refused

cdef struct Overload:
    int n
    int n_positional
    int n_required
    char form                # b"f": function form only, b"m": method form only, 0: both
    bint varargs             # method form: x.view(2, 3)
    ArgumentSpec* arguments

cdef struct Binding:
    const char* name
    const char* spec
    int n_overloads          # 0: not parsed yet
    Overload* overloads

cdef struct Call:
    PyObject* slots[12]      # borrowed
    Binding* binding
    int overload
    bint method
    PyObject** var_items     # integers given one by one
    Py_ssize_t n_var
    IntList lists[3]

cdef int arguments_match(Call* c, Binding* b, PyObject* self, PyObject** args, Py_ssize_t nargs, PyObject* kwnames) except -1   # the overload

cdef Tensor arg_tensor(Call* c, int k)                                     # None where left out
cdef Tensor arg_operand(Call* c, int k)                                    # numbers and NumPy arrays too
cdef Tensor arg_scalar(Call* c, int k)                                     # a wrapped number; None where left out
cdef list arg_tensors(Call* c, int k)
cdef Py_ssize_t arg_int(Call* c, int k, Py_ssize_t default) except? -1
cdef const IntList* arg_ints(Call* c, int k, int which) except? NULL       # in c.lists[which]; NULL where left out
cdef bint arg_bool(Call* c, int k, bint default) except? -1
cdef double arg_float(Call* c, int k, double default) except? -1
cdef int arg_dtype(Call* c, int k) except? -1                              # -1 where left out
cdef int arg_format(Call* c, int k) except? -1                             # a FormatCode; -1 where left out
cdef int arg_choice(Call* c, int k, const char* choices) except? -1        # 1, 2, ... in the comma-separated choices; 0 where left out

# Making Python objects for bindings
ctypedef object (*BindingFunction)(PyObject* self, PyObject** args, Py_ssize_t nargs, PyObject* kwnames)
ctypedef object (*PropertyFunction)(PyObject* self, void* closure)
cdef object function_new(const char* name, BindingFunction function, const char* doc)
cdef object method_new(const char* name, BindingFunction function, const char* doc)
cdef object property_new(const char* name, PropertyFunction function, const char* doc)
