# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp cygrad/_core/kernels/error_function.hpp
# Activation functions of neural networks and their derivatives, each in one pass over memory. Contract: activations.pxd.

from cygrad._core.array cimport Array
from cygrad._core.dtypes cimport BOOL, UINT8, FLOAT16, FLOAT32, is_complex_code, is_float_code
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME, ERR_NOT_IMPLEMENTED
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport PLAIN, REUSE, apply1, apply2, read_number
from cygrad._core.kernels.chains cimport Chain, apply_chain
from cygrad._core.kernels.copy cimport check_value
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.ufuncs cimport UF_EXP, UF_EXPM1, UF_LOG1P, UF_TANH

cdef extern from "activations.hpp" nogil:
    InnerLoop relu_loop "cygrad::ordered1<cygrad::Relu>"(int dtype) noexcept
    InnerLoop threshold_backward_loop "cygrad::real2<cygrad::ThresholdBackward>"(int dtype) noexcept
    InnerLoop leaky_relu_loop "cygrad::real1<cygrad::LeakyRelu>"(int dtype) noexcept
    InnerLoop leaky_relu_backward_loop "cygrad::real2<cygrad::LeakyReluBackward>"(int dtype) noexcept
    InnerLoop hardtanh_loop "cygrad::ordered1<cygrad::Hardtanh>"(int dtype) noexcept
    InnerLoop hardtanh_backward_loop "cygrad::real2<cygrad::HardtanhBackward>"(int dtype) noexcept
    InnerLoop elu_loop "cygrad::real_chain1<cygrad::Elu>"(int dtype) noexcept
    InnerLoop elu_backward_loop "cygrad::real_chain2<cygrad::EluBackward>"(int dtype) noexcept
    InnerLoop elu_result_backward_loop "cygrad::real2<cygrad::EluResultBackward>"(int dtype) noexcept
    InnerLoop gelu_loop "cygrad::real1<cygrad::Gelu>"(int dtype) noexcept
    InnerLoop gelu_backward_loop "cygrad::real_chain2<cygrad::GeluBackward>"(int dtype) noexcept
    InnerLoop single_gelu_loop "cygrad::single_chain1<cygrad::SingleGelu>"(int dtype) noexcept
    InnerLoop single_gelu_backward_loop "cygrad::single_chain2<cygrad::SingleGeluBackward>"(int dtype) noexcept
    InnerLoop gelu_tanh_loop "cygrad::real_chain1<cygrad::GeluTanh>"(int dtype) noexcept
    InnerLoop gelu_tanh_backward_loop "cygrad::real_chain2<cygrad::GeluTanhBackward>"(int dtype) noexcept
    InnerLoop silu_loop "cygrad::floats_chain1<cygrad::Silu>"(int dtype) noexcept
    InnerLoop silu_backward_loop "cygrad::floats_chain2<cygrad::SiluBackward>"(int dtype) noexcept
    InnerLoop softplus_loop "cygrad::real_chain1<cygrad::Softplus>"(int dtype) noexcept
    InnerLoop softplus_backward_loop "cygrad::real_chain2<cygrad::SoftplusBackward>"(int dtype) noexcept
    InnerLoop log_sigmoid_loop "cygrad::real_chain1<cygrad::LogSigmoid>"(int dtype) noexcept
    InnerLoop log_sigmoid_backward_loop "cygrad::real_chain2<cygrad::LogSigmoidBackward>"(int dtype) noexcept


# Reads a real parameter; -1 with an error recorded.
cdef inline int real_number(const char* name, Array* number, double* into) noexcept nogil:
    cdef double[2] parts
    if number == NULL or read_number(name, number, parts) < 0:
        return -1
    if parts[1] != 0:
        return fail_s(ERR_RUNTIME, "%s: value cannot be converted to type double without overflow: a real number is expected, not a complex one", name, "", "")
    into[0] = parts[0]
    return 0


cdef Array* relu(Array* a) noexcept nogil:
    if a == NULL:
        return NULL
    if a.dtype == BOOL:
        fail(ERR_RUNTIME, "relu: Boolean inputs not supported for relu; convert the tensor to a number type first")
        return NULL
    if is_complex_code(a.dtype):
        fail(ERR_NOT_IMPLEMENTED, "relu: clamp is not supported for complex types, which have no order; apply it to the real or imaginary part")
        return NULL
    return apply1("relu", &relu_loop, a, NULL, PLAIN)


cdef Array* relu_backward(Array* grad, Array* result) noexcept nogil:
    cdef double zero = 0
    return apply2("relu_backward", &threshold_backward_loop, grad, result, &zero, REUSE)


cdef Array* threshold_backward(Array* grad, Array* a, Array* threshold) noexcept nogil:
    cdef double p
    if real_number("threshold_backward", threshold, &p) < 0:
        return NULL
    return apply2("threshold_backward", &threshold_backward_loop, grad, a, &p, REUSE)


cdef Array* leaky_relu(Array* a, Array* negative_slope) noexcept nogil:
    cdef double p
    if real_number("leaky_relu", negative_slope, &p) < 0:
        return NULL
    return apply1("leaky_relu", &leaky_relu_loop, a, &p, PLAIN)


cdef Array* leaky_relu_backward(Array* grad, Array* a, Array* negative_slope) noexcept nogil:
    cdef double p
    if real_number("leaky_relu_backward", negative_slope, &p) < 0:
        return NULL
    return apply2("leaky_relu_backward", &leaky_relu_backward_loop, grad, a, &p, REUSE)


cdef int elu_parameters(const char* name, Array* alpha, Array* scale, Array* input_scale, double* p) noexcept nogil:
    if real_number(name, alpha, &p[0]) < 0 or real_number(name, scale, &p[1]) < 0 or real_number(name, input_scale, &p[2]) < 0:
        return -1
    p[0] *= p[1]
    return 0


cdef Array* elu(Array* a, Array* alpha, Array* scale, Array* input_scale) noexcept nogil:
    cdef Chain chain
    if elu_parameters("elu", alpha, scale, input_scale, chain.p) < 0:
        return NULL
    return apply_chain("elu", &elu_loop, a, NULL, &chain, UF_EXPM1, -1, PLAIN)


cdef Array* elu_backward(Array* grad, Array* alpha, Array* scale, Array* input_scale, bint is_result, Array* self_or_result) noexcept nogil:
    cdef Chain chain
    if grad == NULL or self_or_result == NULL or elu_parameters("elu_backward", alpha, scale, input_scale, chain.p) < 0:
        return NULL
    if not is_result:
        return apply_chain("elu_backward", &elu_backward_loop, grad, self_or_result, &chain, UF_EXP, -1, REUSE)
    if chain.p[0] < 0:
        fail(ERR_RUNTIME, "elu_: the gradient of in-place elu with a negative slope cannot be found from its result; use elu (not in-place)")
        return NULL
    return apply2("elu_backward", &elu_result_backward_loop, grad, self_or_result, chain.p, REUSE)


cdef Array* gelu(Array* a, bint tanh) noexcept nogil:
    cdef Chain chain
    if tanh:
        return apply_chain("gelu", &gelu_tanh_loop, a, NULL, &chain, UF_TANH, -1, PLAIN)
    if a != NULL and (a.dtype == FLOAT16 or a.dtype == FLOAT32):
        return apply_chain("gelu", &single_gelu_loop, a, NULL, &chain, UF_EXP, -1, PLAIN)
    return apply1("gelu", &gelu_loop, a, NULL, PLAIN)


cdef Array* gelu_backward(Array* grad, Array* a, bint tanh) noexcept nogil:
    cdef Chain chain
    if grad == NULL or a == NULL:
        return NULL
    if tanh:
        return apply_chain("gelu_backward", &gelu_tanh_backward_loop, grad, a, &chain, UF_TANH, -1, REUSE)
    if grad.dtype == a.dtype and (a.dtype == FLOAT16 or a.dtype == FLOAT32):
        return apply_chain("gelu_backward", &single_gelu_backward_loop, grad, a, &chain, UF_EXP, -1, REUSE)
    return apply_chain("gelu_backward", &gelu_backward_loop, grad, a, &chain, UF_EXP, -1, REUSE)


cdef Array* silu(Array* a) noexcept nogil:
    cdef Chain chain
    return apply_chain("silu", &silu_loop, a, NULL, &chain, UF_EXP, -1, PLAIN)


cdef Array* silu_backward(Array* grad, Array* a) noexcept nogil:
    cdef Chain chain
    if grad == NULL or a == NULL:
        return NULL
    return apply_chain("silu_backward", &silu_backward_loop, grad, a, &chain, UF_EXP, -1, REUSE)


cdef Array* softplus(Array* a, Array* beta, Array* threshold) noexcept nogil:
    cdef Chain chain
    if real_number("softplus", beta, &chain.p[0]) < 0 or real_number("softplus", threshold, &chain.p[1]) < 0:
        return NULL
    return apply_chain("softplus", &softplus_loop, a, NULL, &chain, UF_EXP, UF_LOG1P, PLAIN)


cdef Array* softplus_backward(Array* grad, Array* a, Array* beta, Array* threshold) noexcept nogil:
    cdef Chain chain
    if grad == NULL or a == NULL or real_number("softplus_backward", beta, &chain.p[0]) < 0 or real_number("softplus_backward", threshold, &chain.p[1]) < 0:
        return NULL
    return apply_chain("softplus_backward", &softplus_backward_loop, grad, a, &chain, UF_EXP, -1, REUSE)


cdef Array* log_sigmoid(Array* a) noexcept nogil:
    cdef Chain chain
    return apply_chain("log_sigmoid", &log_sigmoid_loop, a, NULL, &chain, UF_EXP, UF_LOG1P, PLAIN)


cdef Array* log_sigmoid_backward(Array* grad, Array* a) noexcept nogil:
    cdef Chain chain
    if grad == NULL or a == NULL:
        return NULL
    return apply_chain("log_sigmoid_backward", &log_sigmoid_backward_loop, grad, a, &chain, UF_EXP, -1, REUSE)


cdef Array* hardtanh(Array* a, Array* min_val, Array* max_val) noexcept nogil:
    cdef double[2] p
    if a == NULL or real_number("hardtanh", min_val, &p[0]) < 0 or real_number("hardtanh", max_val, &p[1]) < 0:
        return NULL
    if a.dtype == BOOL:
        fail(ERR_RUNTIME, "hardtanh: Bool inputs not supported for hardtanh; convert the tensor to a number type first")
        return NULL
    if a.dtype == UINT8 and (p[0] < 0 or p[1] < 0):
        fail(ERR_RUNTIME, "hardtanh: cannot do hardtanh on an unsigned type with negative limits; convert the tensor to a signed type first")
        return NULL
    if is_complex_code(a.dtype):
        fail(ERR_NOT_IMPLEMENTED, "hardtanh: clamp is not supported for complex types, which have no order; apply it to the real or imaginary part")
        return NULL
    if not is_float_code(a.dtype) and (check_value(min_val, a.dtype) < 0 or check_value(max_val, a.dtype) < 0):
        return NULL
    return apply1("hardtanh", &hardtanh_loop, a, p, PLAIN)


cdef Array* hardtanh_backward(Array* grad, Array* a, Array* min_val, Array* max_val) noexcept nogil:
    cdef double[2] p
    if real_number("hardtanh_backward", min_val, &p[0]) < 0 or real_number("hardtanh_backward", max_val, &p[1]) < 0:
        return NULL
    return apply2("hardtanh_backward", &hardtanh_backward_loop, grad, a, p, REUSE)
