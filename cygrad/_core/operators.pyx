# Python's operators on tensors, and the operations that the engine needs on Tensors: fills the tables of tensor.pxd and recorded_ops.pxd.
#
# Why here: operations are generated one floor above Tensor. The common case (two Tensors) goes straight to the compiled operation. Which operation a
# number on the left or on the right makes is torch's choice, since it shows as the name of the Node (1 - x is RsubBackward1).

from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE
from cygrad._core.array cimport IntList, WRAPPED
from cygrad._core.dtypes cimport is_integral_code
cimport cygrad._core.generated.ops_arithmetic as ar
cimport cygrad._core.generated.ops_comparison as co
cimport cygrad._core.generated.ops_linalg as ops_linalg
cimport cygrad._core.generated.ops_reductions as ops_reductions
cimport cygrad._core.generated.ops_shape as ops_shape
from cygrad._core.indexing cimport get_item, set_item
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.writes cimport copy_
from cygrad._core.tensor cimport (
    Tensor, as_operand, tensor_number, operators, OP_ADD, OP_SUB, OP_MUL, OP_MATMUL, OP_DIV, OP_FLOORDIV, OP_MOD, OP_POW, OP_AND, OP_OR, OP_XOR, OP_LSHIFT,
    OP_RSHIFT, OP_IADD, OP_ISUB, OP_IMUL, OP_IDIV, OP_IFLOORDIV, OP_IMOD, OP_IPOW, OP_IAND, OP_IOR, OP_IXOR, OP_ILSHIFT, OP_IRSHIFT, OP_GETITEM)

ctypedef Tensor (*Binary)(Tensor a, Tensor b)


cdef Tensor operand(object obj):
    # None: this is not for us, Python may ask the other operand.
    cdef Tensor t
    if isinstance(obj, Tensor):
        return <Tensor>obj
    t = tensor_number(obj)
    if t is None and hasattr(obj, "__array_interface__"):
        t = as_operand(obj, b"operator")
    return t


cdef inline bint is_number(Tensor t) noexcept:
    return t.a.flags & WRAPPED != 0


cdef inline object apply(Binary f, object a, object b):
    cdef Tensor x, y
    if type(a) is Tensor and type(b) is Tensor:
        return f(<Tensor>a, <Tensor>b)
    x = operand(a)
    y = operand(b)
    if x is None or y is None:
        return NotImplemented
    return f(x, y)


# ---- operators whose operation depends on which side is a number -----------------------------------------------------

cdef Tensor plus(Tensor a, Tensor b):
    return ar.add(b, a) if is_number(a) else ar.add(a, b)

cdef Tensor times(Tensor a, Tensor b):
    return ar.mul(b, a) if is_number(a) else ar.mul(a, b)

cdef Tensor subtract(Tensor a, Tensor b):
    return ar.rsub_number(b, a) if is_number(a) and not is_number(b) else ar.sub(a, b)

cdef Tensor divide(Tensor a, Tensor b):
    return ar.mul(ar.reciprocal(b), a) if is_number(a) and not is_number(b) else ar.div(a, b)

cdef Tensor modulo(Tensor a, Tensor b):
    return ar.remainder_number(a, b) if is_number(b) else ar.remainder_of_number(a, b) if is_number(a) else ar.remainder(a, b)

cdef Tensor power(Tensor a, Tensor b):
    return ar.pow(a, b) if is_number(b) else ar.pow_of_number(a, b) if is_number(a) else ar.pow_tensor(a, b)

cdef Tensor modulo_(Tensor a, Tensor b):
    return ar.remainder_number_(a, b) if is_number(b) else ar.remainder_(a, b)

cdef Tensor power_(Tensor a, Tensor b):
    return ar.pow_(a, b) if is_number(b) else ar.pow_tensor_(a, b)


# ---- slots -------------------------------------------------------------------------------------------------------------

cdef object op_add(object a, object b):
    return apply(plus, a, b)

cdef object op_sub(object a, object b):
    return apply(subtract, a, b)

cdef object op_mul(object a, object b):
    return apply(times, a, b)

cdef object op_div(object a, object b):
    return apply(divide, a, b)

cdef object op_floordiv(object a, object b):
    return apply(ar.floor_divide, a, b)

cdef object op_mod(object a, object b):
    return apply(modulo, a, b)

cdef object op_pow(object a, object b):
    return apply(power, a, b)

cdef object op_and(object a, object b):
    return apply(co.bitwise_and, a, b)

cdef object op_or(object a, object b):
    return apply(co.bitwise_or, a, b)

cdef object op_xor(object a, object b):
    return apply(co.bitwise_xor, a, b)

cdef object op_lshift(object a, object b):
    return apply(co.bitwise_left_shift, a, b)

cdef object op_rshift(object a, object b):
    return apply(co.bitwise_right_shift, a, b)

cdef object op_iadd(object a, object b):
    return apply(ar.add_, a, b)

cdef object op_isub(object a, object b):
    return apply(ar.sub_, a, b)

cdef object op_imul(object a, object b):
    return apply(ar.mul_, a, b)

cdef object op_idiv(object a, object b):
    return apply(ar.div_, a, b)

cdef object op_ifloordiv(object a, object b):
    return apply(ar.floor_divide_, a, b)

cdef object op_imod(object a, object b):
    return apply(modulo_, a, b)

cdef object op_ipow(object a, object b):
    return apply(power_, a, b)

cdef object op_iand(object a, object b):
    return apply(co.bitwise_and_, a, b)

cdef object op_ior(object a, object b):
    return apply(co.bitwise_or_, a, b)

cdef object op_ixor(object a, object b):
    return apply(co.bitwise_xor_, a, b)

cdef object op_ilshift(object a, object b):
    return apply(co.bitwise_left_shift_, a, b)

cdef object op_irshift(object a, object b):
    return apply(co.bitwise_right_shift_, a, b)

cdef object op_matmul(object a, object b):
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        a = operand(a) if hasattr(a, "__array_interface__") else a
        b = operand(b) if hasattr(b, "__array_interface__") else b
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return NotImplemented
    return ops_linalg.matmul(<Tensor>a, <Tensor>b)


cdef object op_neg(Tensor a):
    return ar.neg(a)


cdef object op_invert(Tensor a):
    if not is_integral_code(a.a.dtype):
        raise TypeError(f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, not {a.dtype}")
    return co.bitwise_not(a)


cdef object op_abs(Tensor a):
    return ar.abs(a)


cdef object op_compare(Tensor a, object b, int op):
    cdef Tensor y = operand(b)
    if y is None:
        return NotImplemented
    if op == Py_EQ:
        return co.eq(a, y)
    if op == Py_NE:
        return co.ne(a, y)
    if op == Py_LT:
        return co.lt(a, y)
    if op == Py_LE:
        return co.le(a, y)
    if op == Py_GT:
        return co.gt(a, y)
    return co.ge(a, y)

operators.binary[OP_ADD] = op_add
operators.binary[OP_SUB] = op_sub
operators.binary[OP_MUL] = op_mul
operators.binary[OP_DIV] = op_div
operators.binary[OP_FLOORDIV] = op_floordiv
operators.binary[OP_MOD] = op_mod
operators.binary[OP_POW] = op_pow
operators.binary[OP_AND] = op_and
operators.binary[OP_OR] = op_or
operators.binary[OP_XOR] = op_xor
operators.binary[OP_LSHIFT] = op_lshift
operators.binary[OP_RSHIFT] = op_rshift
operators.binary[OP_IADD] = op_iadd
operators.binary[OP_ISUB] = op_isub
operators.binary[OP_IMUL] = op_imul
operators.binary[OP_IDIV] = op_idiv
operators.binary[OP_IFLOORDIV] = op_ifloordiv
operators.binary[OP_IMOD] = op_imod
operators.binary[OP_IPOW] = op_ipow
operators.binary[OP_IAND] = op_iand
operators.binary[OP_IOR] = op_ior
operators.binary[OP_IXOR] = op_ixor
operators.binary[OP_ILSHIFT] = op_ilshift
operators.binary[OP_IRSHIFT] = op_irshift
operators.binary[OP_MATMUL] = op_matmul
operators.binary[OP_GETITEM] = get_item
operators.neg = op_neg
operators.invert = op_invert
operators.absolute = op_abs
operators.compare = op_compare
operators.set_item = set_item


cdef Tensor recorded_sum_to(Tensor a, IntList* shape):
    return ops_reductions.sum_to(a, shape)

recorded_ops.add = ar.add
recorded_ops.sum_to = recorded_sum_to
recorded_ops.cast = ops_shape.cast
recorded_ops.clone = ops_shape.clone
recorded_ops.contiguous = ops_shape.contiguous_copy
recorded_ops.expand = ops_shape.expand
recorded_ops.as_strided = ops_shape.as_strided
recorded_ops.copy_ = copy_

