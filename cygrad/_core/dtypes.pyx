# Dtypes: codes, Python objects, promotion, finfo and iinfo. Contract: dtypes.pxd.

import builtins
from typing import Final

import numpy

from cygrad._core.atomics cimport atomic_load, atomic_store

ITEMSIZE[:] = [1, 1, 1, 2, 4, 8, 2, 4, 8, 8, 16]
# NPY_BOOL, UBYTE, BYTE, SHORT, INT, LONG (64 bits here), HALF, FLOAT, DOUBLE, CFLOAT, CDOUBLE
NUMPY_TYPE[:] = [0, 2, 1, 3, 5, 7, 23, 11, 12, 14, 15]

cdef const char* CNAMES[11]
CNAMES[:] = ["Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexFloat", "ComplexDouble"]

cdef long current_default = FLOAT32


cdef class dtype:
    """The type of a tensor's elements, such as ``cygrad.float32``. There is one object a type; compare with ``is`` or ``==``."""

    def __init__(self):
        raise TypeError("cygrad.dtype: dtypes are not made by calling this class; use cygrad.float32 and its like")

    @property
    def is_floating_point(self) -> bool:
        """True for float16, float32 and float64."""
        return is_float_code(self.code)

    @property
    def is_complex(self) -> bool:
        """True for complex64 and complex128."""
        return is_complex_code(self.code)

    @property
    def is_signed(self) -> bool:
        """False for bool and uint8."""
        return self.code != BOOL and self.code != UINT8

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return dtype_object(real_of(self.code))

    def to_complex(self) -> dtype:
        """The complex dtype of the same precision."""
        return dtype_object(complex_of(self.code))

    def __repr__(self) -> str:
        return "cygrad." + self.name

    def __reduce__(self) -> str | tuple[object, ...]:
        return (_dtype_by_name, (self.name,))


cdef list _objects = []


cdef int make_objects() except -1:
    cdef dtype d
    cdef int code
    names = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
    for code, name in enumerate(names):
        d = dtype.__new__(dtype)
        d.name = name
        d.code = code
        d.itemsize = ITEMSIZE[code]
        d.numpy_dtype = numpy.dtype(name)
        _objects.append(d)
    return 0

make_objects()
cdef dict _by_name = {d.name: d for d in _objects}
cdef dict _by_numpy = {(<dtype>d).numpy_dtype: d for d in _objects}
cdef dict _by_python = {builtins.bool: _objects[BOOL], builtins.int: _objects[INT64]}


def _dtype_by_name(name: str) -> dtype:
    """The dtype called ``name`` (for unpickling)."""
    return _by_name[name]


cdef dtype dtype_object(int code):
    return <dtype>_objects[code]


cdef int dtype_code(object obj) except -1:
    if type(obj) is dtype:
        return (<dtype>obj).code
    if obj is builtins.bool:
        return BOOL
    if obj is builtins.int:
        return INT64
    if obj is builtins.float:
        return FLOAT64
    if obj is builtins.complex:
        return COMPLEX128
    found = None
    if isinstance(obj, numpy.dtype) or (isinstance(obj, type) and issubclass(obj, numpy.generic)):
        found = _by_numpy.get(numpy.dtype(obj))
        if found is None:
            raise TypeError(f"cygrad: the NumPy dtype {numpy.dtype(obj)} has no counterpart; the supported types are: {', '.join(_by_name)}")
    if found is None:
        raise TypeError(f"cygrad: dtype must be a cygrad dtype such as cygrad.float32, not {type(obj).__name__}")
    return (<dtype>found).code


cdef const char* dtype_cname(int code) noexcept nogil:
    return CNAMES[code]


cdef int default_dtype() noexcept nogil:
    return <int>atomic_load(&current_default)


cdef int real_of(int t) noexcept nogil:
    return FLOAT32 if t == COMPLEX64 else FLOAT64 if t == COMPLEX128 else t


cdef int complex_of(int t) noexcept nogil:
    if t >= COMPLEX64:
        return t
    if t <= INT64:
        t = default_dtype()
    return COMPLEX128 if t == FLOAT64 else COMPLEX64


cdef int float_for(int t) noexcept nogil:
    return default_dtype() if t <= INT64 else t


cdef int promote(int a, int b) noexcept nogil:
    cdef int low, high
    if a == b:
        return a
    low, high = (a, b) if a < b else (b, a)
    if high == COMPLEX64 and low == FLOAT64:
        return COMPLEX128
    if low == UINT8 and high == INT8:
        return INT16
    return high


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both dtypes can be cast to, by torch's table."""
    return dtype_object(promote(dtype_code(type1), dtype_code(type2)))


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a cast loses no more than precision: complex to real, float to integer and anything to bool are refused."""
    cdef int a = dtype_code(from_), b = dtype_code(to)
    if is_complex_code(a) and not is_complex_code(b):
        return False
    if is_float_code(a) and is_integral_code(b):
        return False
    return a == BOOL or b != BOOL


def set_default_dtype(d: dtype, /) -> None:
    """Set the dtype of new floating-point tensors and of integer-to-float operations.

    Raises TypeError unless ``d`` is a floating-point dtype.
    """
    if type(d) is not dtype or not d.is_floating_point:
        raise TypeError("cygrad.set_default_dtype: only floating-point types are supported as the default type")
    atomic_store(&current_default, (<dtype>d).code)


def get_default_dtype() -> dtype:
    """The dtype of new floating-point tensors: float32 unless set_default_dtype changed it."""
    return dtype_object(default_dtype())


class finfo:
    """Limits of a floating-point dtype (of its real part, for a complex one): bits, eps, max, min, tiny, smallest_normal, resolution.

    Raises TypeError for integer dtypes.
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    bits: Final[int]
    eps: Final[float]
    max: Final[float]
    min: Final[float]
    tiny: Final[float]
    smallest_normal: Final[float]
    resolution: Final[float]
    dtype: Final[str]

    def __init__(self, type: dtype | None = None, /) -> None:
        cdef int code = default_dtype() if type is None else dtype_code(type)
        if is_integral_code(code):
            raise TypeError(f"cygrad.finfo: {dtype_object(code)} is no floating-point type; use iinfo for integers")
        info = numpy.finfo(dtype_object(real_of(code)).numpy_dtype)
        self.bits = int(info.bits)
        self.eps = float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.tiny = float(info.smallest_normal)
        self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -info.precision
        self.dtype = dtype_object(real_of(code)).name

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))


class iinfo:
    """Limits of an integer dtype: bits, max, min. Raises TypeError for other dtypes."""

    __slots__ = ("bits", "dtype", "max", "min")

    bits: Final[int]
    max: Final[int]
    min: Final[int]
    dtype: Final[str]

    def __init__(self, type: dtype, /) -> None:
        cdef int code = dtype_code(type)
        if not is_integral_code(code) or code == BOOL:
            raise TypeError(f"cygrad.iinfo: {dtype_object(code)} is no integer type; use finfo for floating-point types")
        info = numpy.iinfo(dtype_object(code).numpy_dtype)
        self.bits = int(info.bits)
        self.max = int(info.max)
        self.min = int(info.min)
        self.dtype = dtype_object(code).name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))
