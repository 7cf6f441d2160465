# Elementwise operations that NumPy has as ufuncs: its own inner loops (SIMD, no GIL) run on our Arrays, with torch's promotion and broadcasting.
# The loops are read from the ufunc objects (functions, data, types of PyUFuncObject, a public header) when the module is imported.

from cygrad._core.array cimport Array
from cygrad._core.kernels.apply cimport fail_dtype      # also under this name, for those who use ufuncs alone
from cygrad._core.kernels.iterate cimport InnerLoop

cdef enum UFunc:
    UF_ADD, UF_SUB, UF_MUL, UF_TRUE_DIVIDE, UF_FLOOR_DIVIDE, UF_REMAINDER, UF_FMOD, UF_POW, UF_MAXIMUM, UF_MINIMUM, UF_FMAX, UF_FMIN, UF_HYPOT, UF_COPYSIGN, UF_ATAN2, UF_LOGADDEXP,
    UF_EQ, UF_NE, UF_LT, UF_LE, UF_GT, UF_GE, UF_LOGICAL_AND, UF_LOGICAL_OR, UF_LOGICAL_XOR, UF_BITWISE_AND, UF_BITWISE_OR, UF_BITWISE_XOR, UF_LEFT_SHIFT, UF_RIGHT_SHIFT,
    UF_NEG, UF_ABS, UF_SIGN, UF_RECIPROCAL, UF_SQUARE, UF_SQRT, UF_FLOOR, UF_CEIL, UF_RINT, UF_TRUNC, UF_EXP, UF_EXP2, UF_EXPM1, UF_LOG, UF_LOG2, UF_LOG10, UF_LOG1P,
    UF_SIN, UF_COS, UF_TAN, UF_ASIN, UF_ACOS, UF_ATAN, UF_SINH, UF_COSH, UF_TANH, UF_ASINH, UF_ACOSH, UF_ATANH, UF_CONJ, UF_ISNAN, UF_ISINF, UF_ISFINITE, UF_LOGICAL_NOT, UF_INVERT, UF_SIGNBIT, UF_GCD, UF_LCM,
    N_UFUNCS

cdef enum LoopCheck:
    CHECK_NOTHING = 0
    CHECK_DIVISOR = 1      # integers: a zero in the second operand is refused

cdef struct LoopEntry:
    InnerLoop inner        # NULL: NumPy has no such loop
    void* data
    int out                # DType of the result
    int check              # LoopCheck: what binary() looks at before it calls the loop

cdef LoopEntry* ufunc_loop(int uf, int dtype) noexcept nogil       # inner loop whose inputs all have this DType
cdef const char* ufunc_name(int uf) noexcept nogil                 # torch's name, for messages

# out may be NULL (a new Array) or an Array of the result's shape and of any dtype the result may be cast to.
cdef Array* unary(int uf, Array* a, Array* out) noexcept nogil                 # no dtype change but the loop's own
cdef Array* unary_float(int uf, Array* a, Array* out) noexcept nogil           # integers and bool become the default dtype first
cdef Array* binary(int uf, Array* a, Array* b, Array* out) noexcept nogil      # promotes, broadcasts; comparisons give BOOL
cdef Array* binary_float(int uf, Array* a, Array* b, Array* out) noexcept nogil

cdef int check_divisor(const char* name, Array* b, int dtype) noexcept nogil   # -1, RuntimeError "ZeroDivisionError" recorded, where b holds an integer 0

# The kernels by name ("Note [Kernels]")
cdef int kept(Array* result) noexcept nogil                     # 0 for a result that was written to `out` (drops the reference), -1 for NULL
# In place: the target's shape and dtype stay; refused before it is written where the result does not fit
cdef int add_(Array* target, Array* other) noexcept nogil
cdef int sub_(Array* target, Array* other) noexcept nogil
cdef int mul_(Array* target, Array* other) noexcept nogil
cdef int div_(Array* target, Array* other) noexcept nogil
cdef Array* add(Array* a, Array* b) noexcept nogil
cdef Array* sub(Array* a, Array* b) noexcept nogil
cdef Array* mul(Array* a, Array* b) noexcept nogil
cdef Array* div(Array* a, Array* b) noexcept nogil
cdef Array* gcd(Array* a, Array* b) noexcept nogil
cdef Array* lcm(Array* a, Array* b) noexcept nogil
cdef Array* neg(Array* a) noexcept nogil
