# Arguments of bindings. Contract and Note [Bindings]: arguments.pxd.

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport calloc
from libc.string cimport memset, strlen, strncmp
from cygrad._core.array cimport array_alias
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.options cimport memory_format
from cygrad._core.dtypes cimport dtype, dtype_code, is_integral_code, BOOL
from cygrad._core.tensor cimport as_operand, needs_grad, tensor_number, tensor_wrap

cdef extern from "Python.h":
    bint PyLong_CheckExact(PyObject*)
    bint PyFloat_CheckExact(PyObject*)
    bint PyLong_Check(PyObject*)
    bint PyFloat_Check(PyObject*)
    bint PyBool_Check(PyObject*)
    bint PyComplex_Check(PyObject*)
    bint PyUnicode_Check(PyObject*)
    bint PyTuple_Check(PyObject*)
    bint PyList_Check(PyObject*)
    bint PyIndex_Check(PyObject*)
    bint PyType_Check(PyObject*)
    bint PyObject_TypeCheck(PyObject*, PyTypeObject*)
    Py_ssize_t PyLong_AsSsize_t(object) except? -1
    Py_ssize_t PyTuple_GET_SIZE(PyObject*)
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t)
    Py_ssize_t PyList_GET_SIZE(PyObject*)
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t)
    PyObject* Py_None
    object PyUnicode_InternFromString(const char*)
    int PyUnicode_Compare(PyObject*, PyObject*)
    ctypedef PyObject* (*PyCFunction)(PyObject*, PyObject*)
    ctypedef PyObject* (*getter)(PyObject*, void*)
    ctypedef struct PyMethodDef:
        const char* ml_name
        PyCFunction ml_meth
        int ml_flags
        const char* ml_doc
    ctypedef struct PyGetSetDef:
        const char* name
        getter get
        const char* doc
        void* closure
    int METH_FASTCALL, METH_KEYWORDS
    object PyCFunction_NewEx(PyMethodDef*, PyObject* self, object module)
    object PyDescr_NewMethod(PyTypeObject*, PyMethodDef*)
    object PyDescr_NewGetSet(PyTypeObject*, PyGetSetDef*)

import numpy
cdef PyTypeObject* NUMPY_GENERIC = <PyTypeObject*>numpy.generic
cdef PyTypeObject* NUMPY_NUMBER = <PyTypeObject*>numpy.number
cdef PyTypeObject* NUMPY_BOOL = <PyTypeObject*>numpy.bool_
cdef PyTypeObject* NUMPY_FLOATING = <PyTypeObject*>numpy.floating
cdef PyTypeObject* NUMPY_INTEGER = <PyTypeObject*>numpy.integer
cdef PyTypeObject* NUMPY_ARRAY = <PyTypeObject*>numpy.ndarray
cdef PyTypeObject* TENSOR = <PyTypeObject*>Tensor
cdef PyTypeObject* DTYPE = <PyTypeObject*>dtype
cdef PyTypeObject* MEMORY_FORMAT = <PyTypeObject*>memory_format
cdef object INPUT = PyUnicode_InternFromString(b"input")
cdef dict NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims", "self": "x", "other": "x2"}
cdef list _kept = []        # names that ArgumentSpecs point to

cdef dict KIND_TEXT = {
    b"T": "Tensor", b"N": "Tensor", b"t": "Tensor", b"n": "Tensor", b"L": "tuple of Tensors", b"S": "Number", b"s": "Number", b"i": "int", b"j": "int",
    b"I": "tuple of ints", b"J": "tuple of ints", b"b": "bool", b"y": "True", b"f": "float", b"d": "cygrad.dtype", b"e": "cygrad.dtype", b"m": "cygrad.memory_format", b"o": "cygrad.memory_format",
    b"r": "str", b"q": "str",
}


# ---- signatures -----------------------------------------------------------------------------------------------------

cdef int parse(Binding* b) except -1:
    cdef list texts = (<bytes>b.spec).split(b"|")
    cdef Overload* overloads = <Overload*>calloc(len(texts), sizeof(Overload))
    cdef ArgumentSpec* a
    cdef Overload* o
    cdef bytes part
    cdef bint keyword_only
    cdef int i
    if overloads == NULL:
        raise MemoryError()
    for i in range(len(texts)):
        o = &overloads[i]
        parts = [p for p in texts[i].split(b";") if p]
        o.arguments = <ArgumentSpec*>calloc(len(parts) + 1, sizeof(ArgumentSpec))
        if o.arguments == NULL:
            raise MemoryError()
        keyword_only = False
        for part in parts:
            if part == b"*":
                keyword_only = True
                continue
            if part[0] == b"@"[0]:
                o.form = part[1]
                continue
            a = &o.arguments[o.n]
            kind, _, name = part.partition(b" ")
            a.has_default = name.endswith(b"=")
            text = PyUnicode_InternFromString(name.rstrip(b"="))
            _kept.append(text)
            a.name = <PyObject*>text
            if text in NUMPY_NAMES:
                other = PyUnicode_InternFromString(NUMPY_NAMES[text].encode())
                _kept.append(other)
                a.numpy_name = <PyObject*>other
            a.kind = kind[0]
            a.length = int(kind[1:] or 0)
            a.optional = a.kind in b"tnsjJeoq"
            a.keyword_only = keyword_only
            o.n += 1
            if not keyword_only:
                o.n_positional += 1
                if not a.has_default:
                    o.n_required += 1
        o.varargs = o.n_positional == 2 and o.arguments[1].kind in b"IJ"
    b.overloads = overloads
    b.n_overloads = <int>len(texts)
    return 0


cdef str signature_text(Binding* b, Overload* o, bint method):
    cdef int i
    cdef list parts = []
    cdef bint star = False
    for i in range(1 if method else 0, o.n):
        a = &o.arguments[i]
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        name = <str>a.name
        parts.append(f"{KIND_TEXT[bytes([a.kind])]} {'input' if name == 'self' else name}{' = ...' if a.has_default else ''}")
    return f"({', '.join(parts)})"


# ---- checks ---------------------------------------------------------------------------------------------------------

cdef inline bint is_tensor(PyObject* o) noexcept:
    return o.ob_type == TENSOR or PyObject_TypeCheck(o, TENSOR)


cdef inline bint is_plain_tensor(PyObject* o) noexcept:
    # a 0-d tensor that may stand for a number: no gradient is lost
    return is_tensor(o) and (<Tensor>o).a.ndim == 0 and not needs_grad(<Tensor>o)


cdef bint is_number(PyObject* o) noexcept:
    return PyFloat_Check(o) or PyLong_Check(o) or PyComplex_Check(o) or PyObject_TypeCheck(o, NUMPY_NUMBER) or PyObject_TypeCheck(o, NUMPY_BOOL)


cdef bint is_int(PyObject* o) noexcept:
    if likely(PyLong_CheckExact(o)):
        return True
    if PyBool_Check(o):
        return False
    if PyLong_Check(o) or PyObject_TypeCheck(o, NUMPY_INTEGER):
        return True
    if is_tensor(o):
        return (<Tensor>o).a.numel == 1 and is_integral_code((<Tensor>o).a.dtype) and (<Tensor>o).a.dtype != BOOL
    return PyIndex_Check(o) and not PyObject_TypeCheck(o, NUMPY_ARRAY) and not PyObject_TypeCheck(o, NUMPY_BOOL)


cdef bint is_ints(PyObject* o, int length) noexcept:
    cdef Py_ssize_t i
    if PyTuple_Check(o):
        for i in range(PyTuple_GET_SIZE(o)):
            if not is_int(PyTuple_GET_ITEM(o, i)):
                return False
        return True
    if PyList_Check(o):
        for i in range(PyList_GET_SIZE(o)):
            if not is_int(PyList_GET_ITEM(o, i)):
                return False
        return True
    return length > 0 and is_int(o)


cdef bint fits(ArgumentSpec* a, PyObject* o) noexcept:
    cdef char kind = a.kind
    if kind == b"T" or kind == b"t":
        return is_tensor(o)
    if kind == b"N" or kind == b"n":
        return o.ob_type == TENSOR or PyLong_CheckExact(o) or PyFloat_CheckExact(o) or is_tensor(o) or is_number(o) or PyObject_TypeCheck(o, NUMPY_ARRAY)
    if kind == b"i" or kind == b"j":
        return is_int(o)
    if kind == b"I" or kind == b"J":
        return is_ints(o, a.length)
    if kind == b"b":
        return PyBool_Check(o) or PyObject_TypeCheck(o, NUMPY_BOOL)
    if kind == b"y":
        return o == <PyObject*>True
    if kind == b"S" or kind == b"s":
        return PyLong_CheckExact(o) or PyFloat_CheckExact(o) or is_number(o) or is_plain_tensor(o)
    if kind == b"f":
        return PyFloat_Check(o) or (PyLong_Check(o) and not PyBool_Check(o)) or PyObject_TypeCheck(o, NUMPY_FLOATING) or PyObject_TypeCheck(o, NUMPY_INTEGER) or is_plain_tensor(o)
    if kind == b"d" or kind == b"e":
        return PyObject_TypeCheck(o, DTYPE) or PyType_Check(o)
    if kind == b"m" or kind == b"o":
        return PyObject_TypeCheck(o, MEMORY_FORMAT)
    if kind == b"L":
        return PyTuple_Check(o) or PyList_Check(o)
    return PyUnicode_Check(o)


# ---- matching -------------------------------------------------------------------------------------------------------

cdef int keyword_slot(Overload* o, PyObject* name) noexcept:
    cdef int i
    cdef ArgumentSpec* a
    for i in range(o.n):
        if o.arguments[i].name == name:
            return i
    for i in range(o.n):
        a = &o.arguments[i]
        if PyUnicode_Compare(a.name, name) == 0 or (a.numpy_name != NULL and PyUnicode_Compare(a.numpy_name, name) == 0):
            return i
    if o.n and PyUnicode_Compare(<PyObject*>INPUT, name) == 0 and (<str>o.arguments[0].name) == "self":
        return 0
    return -1


cdef bint match_one(Call* c, Overload* o, PyObject* self, PyObject** args, Py_ssize_t nargs, PyObject* kwnames) noexcept:
    cdef int i, k, first = 1 if self != NULL else 0
    cdef Py_ssize_t total = nargs + first, n_keywords
    cdef ArgumentSpec* a
    cdef PyObject* value
    if (first and o.form == b"f") or (not first and o.form == b"m"):
        return False
    c.n_var = -1
    if first:
        c.slots[0] = self
    if o.varargs and first and nargs >= 1 and is_int(args[0]):
        for i in range(nargs):
            if not is_int(args[i]):
                return False
        c.var_items = args
        c.n_var = nargs
        c.slots[1] = args[0]
        total = 2
    else:
        if total > o.n_positional:
            return False
        for i in range(nargs):
            c.slots[first + i] = args[i]
    for i in range(<int>total, o.n):
        c.slots[i] = NULL
    if kwnames != NULL:
        n_keywords = PyTuple_GET_SIZE(kwnames)
        for i in range(n_keywords):
            k = keyword_slot(o, PyTuple_GET_ITEM(kwnames, i))
            if k < 0 or k < total or c.slots[k] != NULL:
                return False
            c.slots[k] = args[nargs + i]
    for i in range(first, o.n):
        a = &o.arguments[i]
        value = c.slots[i]
        if value == NULL:
            if not a.has_default:
                return False
        elif value == Py_None:
            if not a.optional:
                return False
            c.slots[i] = NULL
        elif c.n_var >= 0 and i == 1:
            pass
        elif not fits(a, value):
            return False
    return True


cdef int arguments_match(Call* c, Binding* b, PyObject* self, PyObject** args, Py_ssize_t nargs, PyObject* kwnames) except -1:
    cdef int i
    if unlikely(b.n_overloads == 0):
        parse(b)
    c.binding = b
    c.method = self != NULL
    for i in range(b.n_overloads):
        if match_one(c, &b.overloads[i], self, args, nargs, kwnames):
            c.overload = i
            return i
    refuse(b, self, args, nargs, kwnames)


cdef int refuse(Binding* b, PyObject* self, PyObject** args, Py_ssize_t nargs, PyObject* kwnames) except -1:
    # Says what does not fit: of the only signature in detail, of several by listing them.
    cdef int i, k, first = 1 if self != NULL else 0
    cdef Overload* o
    cdef str name = b.name.decode()
    cdef list given = [<object>args[i] for i in range(nargs)]
    cdef list keywords = [] if kwnames == NULL else list(<tuple>kwnames)
    cdef list values = [<object>args[nargs + i] for i in range(len(keywords))]
    if b.n_overloads == 1:
        o = &b.overloads[0]
        if nargs + first > o.n_positional and not (o.varargs and first):
            if o.n_positional == first:
                raise TypeError(f"cygrad: {name}() takes no arguments ({nargs} given)")
            raise TypeError(f"cygrad: {name}() takes {o.n_positional - first} positional arguments but {nargs} were given")
        seen = {<str>o.arguments[i].name for i in range(min(nargs + first, o.n))}
        for k in range(len(keywords)):
            i = keyword_slot(o, <PyObject*>keywords[k])
            if i < 0:
                raise TypeError(f"cygrad: {name}() got an unexpected keyword argument '{keywords[k]}'")
            if <str>o.arguments[i].name in seen:
                raise TypeError(f"cygrad: {name}() got multiple values for argument '{keywords[k]}'")
            seen.add(<str>o.arguments[i].name)
        missing = ["input" if <str>o.arguments[i].name == "self" else <str>o.arguments[i].name
                   for i in range(first, o.n) if <str>o.arguments[i].name not in seen and not o.arguments[i].has_default]
        if missing:
            raise TypeError(f"cygrad: {name}() missing {len(missing)} required positional arguments: " + ", ".join(f'"{m}"' for m in missing))
        for i in range(nargs + len(keywords)):
            k = i + first if i < nargs else keyword_slot(o, <PyObject*>keywords[i - nargs])
            value = given[i] if i < nargs else values[i - nargs]
            if k >= o.n:
                k = o.n - 1
            if value is None and o.arguments[k].optional:
                continue
            if not fits(&o.arguments[k], <PyObject*>value):
                label = "input" if <str>o.arguments[k].name == "self" else <str>o.arguments[k].name
                place = f" (position {i + 1})" if i < nargs else ""
                raise TypeError(f"cygrad: {name}(): argument '{label}'{place} must be {KIND_TEXT[bytes([o.arguments[k].kind])]}, not {type_text(value)}")
    got = ", ".join([type_text(v) for v in given] + [f"{keywords[k]}={type_text(values[k])}" for k in range(len(keywords))])
    listed = "".join(f"\n * {signature_text(b, &b.overloads[i], first)}" for i in range(b.n_overloads))
    raise TypeError(f"cygrad: {name}() received an invalid combination of arguments - got ({got}), but expected one of:{listed}")


cdef str type_text(object value):
    if isinstance(value, (tuple, list)) and value:
        return f"{type(value).__name__} of ({', '.join(type(v).__name__ for v in value)})"
    return type(value).__name__


# ---- conversion -----------------------------------------------------------------------------------------------------

cdef Tensor arg_tensor(Call* c, int k):
    return None if c.slots[k] == NULL else <Tensor>c.slots[k]


cdef Tensor arg_operand(Call* c, int k):
    cdef PyObject* o = c.slots[k]
    if o == NULL:
        return None
    if likely(o.ob_type == TENSOR):
        return <Tensor>o
    if PyLong_CheckExact(o) or PyFloat_CheckExact(o):
        return tensor_number(<object>o)
    return as_operand(<object>o, c.binding.name)


cdef Tensor arg_scalar(Call* c, int k):
    cdef PyObject* o = c.slots[k]
    cdef Tensor t
    if o == NULL:
        return None
    if PyLong_CheckExact(o) or PyFloat_CheckExact(o):
        return tensor_number(<object>o)
    if is_tensor(o):
        return tensor_number((<object>o).item())
    if PyObject_TypeCheck(o, NUMPY_GENERIC):
        return tensor_number((<object>o).item())
    t = tensor_number(<object>o)
    if t is None:
        raise TypeError(f"cygrad: {c.binding.name.decode()}(): a number is needed, not {type(<object>o).__name__}")
    return t


cdef list arg_tensors(Call* c, int k):
    return list(<object>c.slots[k])


cdef Py_ssize_t arg_int(Call* c, int k, Py_ssize_t default) except? -1:
    cdef PyObject* o = c.slots[k]
    if o == NULL:
        return default
    if PyLong_CheckExact(o):
        return PyLong_AsSsize_t(<object>o)
    return (<object>o).__index__()


cdef const IntList* arg_ints(Call* c, int k, int which) except? NULL:
    cdef PyObject* o = c.slots[k]
    cdef IntList* into = &c.lists[which]
    cdef PyObject* item
    cdef Py_ssize_t i, n
    cdef ArgumentSpec* a
    if o == NULL:
        return NULL
    if c.n_var >= 0 and k == 1:
        n = c.n_var
    elif PyTuple_Check(o):
        n = PyTuple_GET_SIZE(o)
    elif PyList_Check(o):
        n = PyList_GET_SIZE(o)
    else:
        a = &c.binding.overloads[c.overload].arguments[k]
        into.n = a.length
        for i in range(a.length):
            into.v[i] = arg_int(c, k, 0)
        return into
    if n > 64:
        raise ValueError(f"cygrad: {c.binding.name.decode()}(): {n} integers are given; a tensor has at most 64 dimensions")
    into.n = <int>n
    for i in range(n):
        item = c.var_items[i] if (c.n_var >= 0 and k == 1) else PyTuple_GET_ITEM(o, i) if PyTuple_Check(o) else PyList_GET_ITEM(o, i)
        into.v[i] = PyLong_AsSsize_t(<object>item) if PyLong_CheckExact(item) else (<object>item).__index__()
    return into


cdef bint arg_bool(Call* c, int k, bint default) except? -1:
    return default if c.slots[k] == NULL else <bint><object>c.slots[k]


cdef double arg_float(Call* c, int k, double default) except? -1:
    return default if c.slots[k] == NULL else float(<object>c.slots[k])


cdef int arg_dtype(Call* c, int k) except? -1:
    return -1 if c.slots[k] == NULL else dtype_code(<object>c.slots[k])


cdef int arg_format(Call* c, int k) except? -1:
    return -1 if c.slots[k] == NULL else (<memory_format>c.slots[k]).code


cdef int arg_choice(Call* c, int k, const char* choices) except? -1:
    cdef list listed
    if c.slots[k] == NULL:
        return 0
    text = <object>c.slots[k]
    listed = choices.decode().split(",")
    if text not in listed:
        a = &c.binding.overloads[c.overload].arguments[k]
        if <str>a.name == "reduction":
            raise ValueError(f"cygrad: {c.binding.name.decode()}: {text} is not a valid value for reduction; it is one of {', '.join(listed)}")
        expected = ", ".join(f"'{v}'" for v in (["None"] if a.optional else []) + listed).replace("'None'", "None")
        raise RuntimeError(f"cygrad: {c.binding.name.decode()} expected {<str>a.name} to be one of {expected} but found '{text}'")
    return listed.index(text) + 1


# ---- Python objects -------------------------------------------------------------------------------------------------

cdef PyMethodDef* method_def(const char* name, BindingFunction function, const char* doc) except NULL:
    cdef PyMethodDef* d = <PyMethodDef*>calloc(1, sizeof(PyMethodDef))
    if d == NULL:
        raise MemoryError()
    d.ml_name = name
    d.ml_meth = <PyCFunction><void*>function
    d.ml_flags = METH_FASTCALL | METH_KEYWORDS
    d.ml_doc = doc
    return d


cdef object function_new(const char* name, BindingFunction function, const char* doc):
    return PyCFunction_NewEx(method_def(name, function, doc), NULL, "cygrad")


cdef object method_new(const char* name, BindingFunction function, const char* doc):
    return PyDescr_NewMethod(TENSOR, method_def(name, function, doc))


cdef object property_new(const char* name, PropertyFunction function, const char* doc):
    cdef PyGetSetDef* d = <PyGetSetDef*>calloc(1, sizeof(PyGetSetDef))
    if d == NULL:
        raise MemoryError()
    d.name = name
    d.get = <getter><void*>function
    d.doc = doc
    return PyDescr_NewGetSet(TENSOR, d)
