# Python's operators on tensors, and the operations that the engine needs on Tensors: fills the tables of tensor.pxd and recorded_ops.pxd.
#
# Why here: operations are generated one floor above Tensor. The common case (two Tensors) goes straight to the compiled operation.

from cygrad._core.array cimport IntList
from cygrad._core.generated cimport ops_arithmetic, ops_reductions, ops_shape
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.tensor cimport (
    Tensor, as_operand, tensor_number, operators, OP_ADD, OP_SUB, OP_MUL, OP_IADD, OP_ISUB, OP_IMUL)

ctypedef Tensor (*Binary)(Tensor a, Tensor b)


cdef Tensor operand(object obj):
    # None: this is not for us, Python may ask the other operand.
    cdef Tensor t
    if isinstance(obj, Tensor):
        return <Tensor>obj
    t = tensor_number(obj)
    if t is None and hasattr(obj, "__array_interface__"):
        t = as_operand(obj, "operator")
    return t


cdef inline object apply(Binary f, object a, object b):
    cdef Tensor x, y
    if type(a) is Tensor and type(b) is Tensor:
        return f(<Tensor>a, <Tensor>b)
    x = operand(a)
    y = operand(b)
    if x is None or y is None:
        return NotImplemented
    return f(x, y)


cdef object op_add(object a, object b):
    return apply(ops_arithmetic.add, a, b)

cdef object op_sub(object a, object b):
    return apply(ops_arithmetic.sub, a, b)

cdef object op_mul(object a, object b):
    return apply(ops_arithmetic.mul, a, b)

cdef object op_iadd(object a, object b):
    return apply(ops_arithmetic.add_, a, b)

cdef object op_isub(object a, object b):
    return apply(ops_arithmetic.sub_, a, b)

cdef object op_imul(object a, object b):
    return apply(ops_arithmetic.mul_, a, b)

cdef object op_neg(Tensor a):
    return ops_arithmetic.neg(a)

operators.binary[OP_ADD] = op_add
operators.binary[OP_SUB] = op_sub
operators.binary[OP_MUL] = op_mul
operators.binary[OP_IADD] = op_iadd
operators.binary[OP_ISUB] = op_isub
operators.binary[OP_IMUL] = op_imul
operators.neg = op_neg


cdef Tensor recorded_sum_to(Tensor a, IntList* shape):
    return ops_reductions.sum_to(a, shape)

recorded_ops.add = ops_arithmetic.add
recorded_ops.sum_to = recorded_sum_to
recorded_ops.clone = ops_shape.clone
