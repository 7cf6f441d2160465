# Parsing of the arguments that creation functions share. Contract: sizes.pxd.

import operator

from cygrad._core.array cimport Array, MAX_DIMS, array_decref, same_shape, scalar_bool, scalar_complex, scalar_double, scalar_int
from cygrad._core.device cimport device_usable
from cygrad._core.dtypes cimport BOOL, dtype, dtype_code, dtype_object, is_integral_code
from cygrad._core.errors cimport raise_pending
from cygrad._core.kernels.copy cimport copy_into, fill
from cygrad._core.options cimport check_layout, check_pin_memory
from cygrad._core.inplace cimport inplace_check, version_bump
from cygrad._core.tensor cimport Tensor, tensor_wrap

cdef object as_index = operator.index


cdef int store_size(object entry, object index, const char* operation, int position, Py_ssize_t* into) except -1:
    cdef object value
    if type(entry) is int:
        value = entry
    elif isinstance(entry, (bool, float, str)) or not hasattr(type(entry), "__index__"):
        found = "" if index is None else f", but found element of type {type(entry).__name__} at pos {index}"
        if index is None:
            found = f", not {type(entry).__name__}"
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'size' (position {position}) must be tuple of ints{found}")
    else:
        value = as_index(entry)
    if value < 0:
        raise RuntimeError(f"cygrad.{operation.decode()}: Trying to create tensor with negative dimension {value}: Dimension size must be non-negative")
    if value > 0x7fffffffffffffff:
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'size' failed to unpack the object at pos {1 if index is None else index + 1}: "
                        f"Overflow when unpacking long long: {value}")
    into[0] = value
    return 0


cdef int store_sizes(object sequence, const char* operation, int position, Py_ssize_t* sizes) except -1:
    cdef Py_ssize_t n = len(sequence), i
    if n > MAX_DIMS:
        raise RuntimeError(f"cygrad.{operation.decode()}: tensors have at most {MAX_DIMS} dimensions, got {n}")
    for i in range(n):
        store_size(sequence[i], i, operation, position, &sizes[i])
    return <int>n


cdef int parse_size_sequence(object size, const char* operation, int position, Py_ssize_t* sizes) except -1:
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'size' (position {position}) must be tuple of ints, not {type(size).__name__}")
    return store_sizes(size, operation, position, sizes)


cdef int parse_size(tuple args, object keyword, const char* operation, Py_ssize_t* sizes) except -1:
    cdef object first
    if keyword is not None:
        if args:
            raise TypeError(f"cygrad.{operation.decode()}(): argument 'size' was given twice")
        args = (keyword,)
    elif not args:
        raise TypeError(f"cygrad.{operation.decode()}() missing 1 required positional arguments: \"size\"")
    first = args[0]
    if isinstance(first, (tuple, list)):
        if len(args) > 1:
            raise TypeError(f"cygrad.{operation.decode()}() takes 1 positional argument but {len(args)} were given: sizes come as numbers or as one sequence")
        return store_sizes(first, operation, 1, sizes)
    if len(args) == 1:
        store_size(first, None, operation, 1, sizes)
        return 1
    return store_sizes(args, operation, 1, sizes)


cdef int dtype_or(object dtype_, int default, const char* operation) except -2:
    if dtype_ is None:
        return default
    if type(dtype_) is dtype:
        return (<dtype>dtype_).code
    try:
        return dtype_code(dtype_)
    except TypeError as e:
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'dtype' must be cygrad.dtype, not {type(dtype_).__name__}; write cygrad.float32 and its like") from e


cdef int check_place(object layout, object device, object pin_memory, const char* operation) except -1:
    if layout is not None:
        check_layout(layout, operation)
    if device is not None:
        device_usable(device)
    if pin_memory is not None and pin_memory is not False:
        check_pin_memory(pin_memory, operation)
    return 0


cdef int check_requires_grad(int code, object requires_grad, const char* operation) except -1:
    if requires_grad is False or requires_grad is None:
        return 0
    if requires_grad is not True:
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if is_integral_code(code):
        raise RuntimeError(f"cygrad.{operation.decode()}: Only Tensors of floating point and complex dtype can require gradients, not {dtype_object(code)}")
    return 0


cdef Tensor finish(Array* a, object requires_grad):
    cdef Tensor t = tensor_wrap(a)
    if requires_grad is True:
        t.requires_grad_ = True
    return t


cdef Tensor finish_out(Array* a, object requires_grad, Tensor out, const char* operation):
    cdef Tensor t = tensor_wrap(a)
    if out is None:
        if requires_grad is True:
            t.requires_grad_ = True
        return t
    inplace_check(out, operation)
    if out.a.dtype != a.dtype:
        raise RuntimeError(f"cygrad.{operation.decode()}: the dtype asked for, {dtype_object(a.dtype)}, is not that of out=, {dtype_object(out.a.dtype)}")
    if not same_shape(out.a, a):
        raise RuntimeError(f"cygrad.{operation.decode()}: out= has shape {list(out.shape)}, but the result has shape {list(t.shape)}; give an out= of that shape")
    if copy_into(out.a, a) != 0:
        raise_pending()
    version_bump(out, operation)
    return out


cdef int signed_sizes(object values, const char* operation, const char* argument, Py_ssize_t* into) except -1:
    cdef Py_ssize_t n, i
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"cygrad.{operation.decode()}(): argument '{argument.decode()}' must be tuple of ints, not {type(values).__name__}")
    n = len(values)
    if n > MAX_DIMS:
        raise RuntimeError(f"cygrad.{operation.decode()}: tensors have at most {MAX_DIMS} dimensions, got {n}")
    for i in range(n):
        into[i] = as_index(values[i])
    return <int>n


cdef int store_value(Array* a, object value) except -1:
    cdef Array* number
    cdef int overflow = 0
    if isinstance(value, bool):
        number = scalar_bool(value)
    elif isinstance(value, int):
        if not -0x8000000000000000 <= value <= 0x7fffffffffffffff:
            if is_integral_code(a.dtype) and a.dtype != BOOL:
                raise RuntimeError(f"cygrad: value cannot be converted to type {dtype_object(a.dtype).name} without overflow: {value}")
            number = scalar_double(float(value))
        else:
            number = scalar_int(value)
    elif isinstance(value, complex):
        number = scalar_complex(value.real, value.imag)
    else:
        number = scalar_double(value)
    if number == NULL:
        raise_pending()
    overflow = fill(a, number)
    array_decref(number)
    if overflow != 0:
        raise_pending()
    return 0
