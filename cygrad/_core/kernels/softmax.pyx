# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic -Wno-psabi
# distutils: depends = cygrad/_core/kernels/numeric.hpp cygrad/_core/kernels/reduce.hpp cygrad/_core/kernels/softmax.hpp
# softmax and losses: checks, dtypes and geometry here, loops in softmax.hpp and losses.hpp. Contract: softmax.pxd.

from libc.stdint cimport int64_t
from libc.stdio cimport snprintf
from cygrad._core.array cimport (
    Array, CONTIGUOUS, array_decref, array_empty, array_incref, array_unshared, array_zeros, broadcast_shape, normalize_dim, result_dtype)
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.dtypes cimport FLOAT16, FLOAT32, FLOAT64, INT64, NUMPY_TYPE, UINT8, dtype_cname, is_float_code
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_INDEX, ERR_RUNTIME, ERR_VALUE
from cygrad._core.kernels.apply cimport fail_dtype
from cygrad._core.kernels.copy cimport cast, contiguous
from cygrad._core.kernels.iterate cimport InnerLoop, Loop, loop_add, loop_init, loop_ready, loop_run
from cygrad._core.kernels.reductions cimport to_half
from cygrad._core.kernels.ufuncs cimport UF_EXP, UF_LOG, LoopEntry, ufunc_loop

cdef extern from "losses.hpp" namespace "cg" nogil:
    cdef cppclass Exp:
        InnerLoop inner
        void* data
    cdef cppclass LossData:
        double total
        double factor
        int store
        Exp exp
        Exp log
    enum:
        L_MSE, L_MSE_BACKWARD, L_BCE, L_BCE_BACKWARD
    bint softmax_run(int type, const char* x, char* y, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, InnerLoop exp, void* data, bint logarithm)
    bint softmax_backward_run(int type, const char* g, const char* y, char* out, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, InnerLoop exp, void* data, bint logarithm)
    Py_ssize_t nll_bad_target(const int64_t* target, Py_ssize_t count, Py_ssize_t classes, int64_t ignore)
    void nll_forward[T](const T* a, const int64_t* target, const T* weight, Py_ssize_t batch, Py_ssize_t classes, Py_ssize_t inner, int64_t ignore, T* out,
                        double* total, double* weights)
    void nll_backward[T](const T* grad, bint each, T divisor, const int64_t* target,
                         const T* weight, Py_ssize_t batch, Py_ssize_t classes, Py_ssize_t inner,
                         int64_t ignore, T* out)
    InnerLoop loss_inner(int loss, int type)

cdef enum:
    NONE = 0
    MEAN = 1
    SUM = 2

# -------------------------------------------------------------------------------------------------------------------------------- softmax

cdef inline void around_dim(Array* a, int dim, Py_ssize_t* outer, Py_ssize_t* n, Py_ssize_t* inner) noexcept nogil:
    cdef int d
    outer[0] = n[0] = inner[0] = 1
    for d in range(dim):
        outer[0] *= a.shape[d]
    if a.ndim:
        n[0] = a.shape[dim]
    for d in range(dim + 1, a.ndim):
        inner[0] *= a.shape[d]


cdef Array* softmax_of(const char* name, bint logarithm, Array* a, Py_ssize_t dim, int dtype) noexcept nogil:
    cdef Array* x
    cdef Array* out
    cdef LoopEntry* e
    cdef Py_ssize_t outer, n, inner
    cdef int d
    if a == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if unlikely(d < 0):
        return NULL
    if dtype < 0:
        dtype = a.dtype
    if unlikely(not is_float_code(dtype)):
        return fail_dtype(name, dtype) if a.numel else array_empty(dtype, a.ndim, a.shape)
    if unlikely(a.dtype != dtype or dtype == FLOAT16):
        x = cast(a, FLOAT32 if dtype == FLOAT16 else dtype)
        out = softmax_of(name, logarithm, x, dim, -1)
        array_decref(x)
        return to_half(out) if dtype == FLOAT16 else out
    x = contiguous(a)
    if unlikely(x == NULL):
        return NULL
    out = array_empty(dtype, a.ndim, a.shape)
    if likely(out != NULL) and out.numel:
        around_dim(a, d, &outer, &n, &inner)
        e = ufunc_loop(UF_EXP, dtype)
        softmax_run(NUMPY_TYPE[dtype], x.data, out.data, outer, n, inner, e.inner, e.data, logarithm)
    array_decref(x)
    return out


cdef Array* softmax(Array* a, Py_ssize_t dim, int dtype) noexcept nogil:
    return softmax_of("softmax", False, a, dim, dtype)


cdef Array* log_softmax(Array* a, Py_ssize_t dim, int dtype) noexcept nogil:
    return softmax_of("log_softmax", True, a, dim, dtype)


cdef Array* softmax_backward_of(const char* name, bint logarithm, Array* grad, Array* result, Py_ssize_t dim) noexcept nogil:
    cdef Array* g
    cdef Array* y
    cdef Array* out
    cdef LoopEntry* e
    cdef Py_ssize_t outer, n, inner
    cdef int d, i, dtype
    if grad == NULL or result == NULL:
        return NULL
    d = normalize_dim(dim, result.ndim)
    if unlikely(d < 0):
        return NULL
    if unlikely(grad.ndim != result.ndim):
        fail_s(ERR_RUNTIME, "cygrad %s: the gradient must have the shape of the result", name, NULL, NULL)
        return NULL
    for i in range(grad.ndim):
        if unlikely(grad.shape[i] != result.shape[i]):
            fail_s(ERR_RUNTIME, "cygrad %s: the gradient must have the shape of the result", name, NULL, NULL)
            return NULL
    dtype = result.dtype
    if unlikely(grad.dtype != dtype or dtype == FLOAT16):
        dtype = FLOAT32 if dtype == FLOAT16 else dtype
        g = cast(grad, dtype)
        y = cast(result, dtype)
        out = softmax_backward_of(name, logarithm, g, y, dim)
        array_decref(g)
        array_decref(y)
        return to_half(out) if result.dtype == FLOAT16 else out
    if unlikely(not is_float_code(dtype)):
        return fail_dtype(name, dtype)
    if not logarithm and grad.flags & CONTIGUOUS and array_unshared(grad):
        out = array_incref(grad)
    else:
        out = array_empty(dtype, result.ndim, result.shape)
    g = contiguous(grad)
    y = contiguous(result)
    if likely(out != NULL and g != NULL and y != NULL):
        if out.numel:
            around_dim(result, d, &outer, &n, &inner)
            e = ufunc_loop(UF_EXP, dtype)
            softmax_backward_run(NUMPY_TYPE[dtype], g.data, y.data, out.data, outer, n, inner, e.inner, e.data, logarithm)
    else:
        array_decref(out)
        out = NULL
    array_decref(g)
    array_decref(y)
    return out


cdef Array* softmax_backward(Array* grad, Array* result, Py_ssize_t dim) noexcept nogil:
    return softmax_backward_of("softmax_backward", False, grad, result, dim)


cdef Array* log_softmax_backward(Array* grad, Array* result, Py_ssize_t dim) noexcept nogil:
    return softmax_backward_of("log_softmax_backward", True, grad, result, dim)


# ----------------------------------------------------------------------------------------------------------------- negative log likelihood

# Checks shapes and dtypes, and gives contiguous Arrays (new references; target in int64) and the geometry.
cdef int nll_prepare(Array* a, Array* target, Array* weight, Py_ssize_t ignore, Array** t, Array** w, Py_ssize_t* batch, Py_ssize_t* classes,
                     Py_ssize_t* inner) noexcept nogil:
    cdef int d
    cdef Py_ssize_t bad
    cdef char message[256]
    t[0] = w[0] = NULL
    if not is_float_code(a.dtype):
        fail_dtype("nll_loss", a.dtype)
        return -1
    if a.ndim == 0:
        return fail(ERR_VALUE, "cygrad nll_loss: Expected 1 or more dimensions (got 0); the input holds log-probabilities (N, C) or (C)")
    if target.dtype != INT64 and target.dtype != UINT8:
        return fail_s(ERR_RUNTIME, "cygrad nll_loss: expected target dtype to be Long or Byte, but got %s; targets are class indices",
                      dtype_cname(target.dtype), NULL, NULL)
    batch[0] = inner[0] = 1
    if a.ndim == 1:
        classes[0] = a.shape[0]
        if target.numel != 1 or target.ndim > 1:
            return fail_i(ERR_RUNTIME, "cygrad nll_loss: one row of log-probabilities takes one target, got a target of %ld elements",
                          target.numel, 0, 0)
    else:
        batch[0] = a.shape[0]
        classes[0] = a.shape[1]
        if target.ndim < 1 or target.shape[0] != batch[0]:
            return fail_i(ERR_VALUE, "cygrad nll_loss: Expected input batch_size (%ld) to match target batch_size (%ld)",
                          batch[0], target.shape[0] if target.ndim else 1, 0)
        for d in range(2, a.ndim):
            inner[0] *= a.shape[d]
        if target.ndim != a.ndim - 1:
            return fail_i(ERR_RUNTIME, "cygrad nll_loss: Expected target size to be the input's without its class dim (size mismatch): input has %ld dims, target %ld", a.ndim, target.ndim, 0)
        for d in range(2, a.ndim):
            if target.shape[d - 1] != a.shape[d]:
                return fail_i(ERR_RUNTIME, "cygrad nll_loss: Expected target size %ld in dim %ld, got %ld (size mismatch)",
                              a.shape[d], d - 1, target.shape[d - 1])
    if weight != NULL:
        if weight.ndim != 1 or weight.numel != classes[0]:
            return fail_i(ERR_RUNTIME, "cygrad nll_loss: weight tensor should be defined either for all %ld classes or no classes but got a weight of %ld elements",
                          classes[0], weight.numel, 0)
        if weight.dtype != a.dtype:
            return fail_s(ERR_RUNTIME, "cygrad nll_loss: expected scalar type %s but found %s as dtype of the weight",
                          dtype_cname(a.dtype), dtype_cname(weight.dtype), NULL)
        w[0] = cast_contiguous(weight, FLOAT32 if a.dtype == FLOAT16 else a.dtype)
        if w[0] == NULL:
            return -1
    t[0] = cast_contiguous(target, INT64)
    if t[0] == NULL:
        array_decref(w[0])
        return -1
    bad = nll_bad_target(<int64_t*>t[0].data, t[0].numel, classes[0], ignore)
    if bad >= 0:
        snprintf(message, sizeof(message), "cygrad nll_loss: Target %ld is out of bounds. Classes are 0 to %ld (or ignore_index, %ld)",
                 <long>(<int64_t*>t[0].data)[bad], <long>classes[0] - 1, <long>ignore)
        array_decref(t[0])
        array_decref(w[0])
        return fail(ERR_INDEX, message)
    return 0


cdef Array* cast_contiguous(Array* a, int dtype) noexcept nogil:
    cdef Array* x = cast(a, dtype)
    cdef Array* y = contiguous(x)
    array_decref(x)
    return y


cdef Array* number(int dtype, double value) noexcept nogil:
    cdef Array* a = array_empty(dtype, 0, NULL)
    if a != NULL:
        if dtype == FLOAT32:
            (<float*>a.data)[0] = <float>value
        else:
            (<double*>a.data)[0] = value
    return a


cdef int nll_loss_forward(Array* a, Array* target, Array* weight, int reduction, Py_ssize_t ignore_index, Array** outs) noexcept nogil:
    cdef Array* t
    cdef Array* w
    cdef Array* x
    cdef Array* out = NULL
    cdef Array* total = NULL
    cdef Py_ssize_t batch, classes, inner
    cdef double loss = 0, weights = 0
    cdef int dtype
    if a == NULL or target == NULL or nll_prepare(a, target, weight, ignore_index, &t, &w, &batch, &classes, &inner) < 0:
        return -1
    dtype = FLOAT32 if a.dtype == FLOAT16 else a.dtype
    x = cast_contiguous(a, dtype)
    if reduction == NONE:
        out = array_empty(dtype, target.ndim if a.ndim > 1 else 0, target.shape)
    if x != NULL and (out != NULL or reduction != NONE):
        if dtype == FLOAT32:
            nll_forward[float](<float*>x.data, <int64_t*>t.data, <float*>w.data if w != NULL else NULL, batch, classes, inner, ignore_index,
                               <float*>out.data if out != NULL else NULL, &loss, &weights)
        else:
            nll_forward[double](<double*>x.data, <int64_t*>t.data, <double*>w.data if w != NULL else NULL, batch, classes, inner, ignore_index,
                                <double*>out.data if out != NULL else NULL, &loss, &weights)
        if reduction != NONE:
            out = number(dtype, loss / weights if reduction == MEAN else loss)
        total = number(dtype, 0 if reduction == NONE and a.ndim > 1 else weights)
    array_decref(x)
    array_decref(t)
    array_decref(w)
    if a.dtype == FLOAT16:
        out = to_half(out)
        total = to_half(total)
    if out == NULL or total == NULL:
        array_decref(out)
        array_decref(total)
        return -1
    outs[0] = out
    outs[1] = total
    return 0


cdef double value_of(Array* a) noexcept nogil:
    return <double>(<float*>a.data)[0] if a.dtype == FLOAT32 else (<double*>a.data)[0]


cdef Array* nll_loss_backward(Array* grad, Array* a, Array* target, Array* weight,
                              int reduction, Py_ssize_t ignore_index, Array* total_weight) noexcept nogil:
    cdef Array* t
    cdef Array* w
    cdef Array* g
    cdef Array* all = NULL
    cdef Array* out = NULL
    cdef Py_ssize_t batch, classes, inner
    cdef double divisor = 1
    cdef bint each = reduction == NONE
    cdef int dtype
    if grad == NULL or a == NULL or target == NULL or total_weight == NULL:
        return NULL
    if nll_prepare(a, target, weight, ignore_index, &t, &w, &batch, &classes, &inner) < 0:
        return NULL
    dtype = FLOAT32 if a.dtype == FLOAT16 else a.dtype
    g = cast_contiguous(grad, dtype)
    if grad.numel != (batch * inner if each else 1):
        fail_i(ERR_RUNTIME, "cygrad nll_loss_backward: expected a gradient of %ld elements but got %ld", batch * inner if each else 1, grad.numel, 0)
    elif g != NULL:
        all = cast(total_weight, dtype)
        out = array_zeros(dtype, a.ndim, a.shape)
        if all != NULL and out != NULL:
            if reduction == MEAN:
                divisor = value_of(all)
            if dtype == FLOAT32:
                nll_backward[float](<float*>g.data, each, <float>divisor, <int64_t*>t.data, <float*>w.data if w != NULL else NULL,
                                    batch, classes, inner, ignore_index, <float*>out.data)
            else:
                nll_backward[double](<double*>g.data, each, divisor, <int64_t*>t.data, <double*>w.data if w != NULL else NULL,
                                     batch, classes, inner, ignore_index, <double*>out.data)
    array_decref(all)
    array_decref(g)
    array_decref(t)
    array_decref(w)
    return to_half(out) if a.dtype == FLOAT16 else out


# ----------------------------------------------------------------------------------------------------------------------- elementwise losses

# The loss over the broadcast shape of its inputs, all of `dtype` (float32 or float64): a new Array of that shape, or a number where it is reduced.
cdef Array* run_loss(int loss, int dtype, int ndim, const Py_ssize_t* shape, Array** inputs, int n, int reduction, double factor) noexcept nogil:
    cdef Loop it
    cdef LossData data
    cdef LoopEntry* e
    cdef Array* out = NULL
    cdef Py_ssize_t count = 1
    cdef int k
    for k in range(ndim):
        count *= shape[k]
    data.total = 0
    data.factor = factor
    data.store = reduction == NONE
    e = ufunc_loop(UF_EXP, dtype)
    data.exp.inner = e.inner
    data.exp.data = e.data
    e = ufunc_loop(UF_LOG, dtype)
    data.log.inner = e.inner
    data.log.data = e.data
    if reduction == NONE:
        out = array_empty(dtype, ndim, shape)
        if out == NULL:
            return NULL
    if count:
        loop_init(&it, ndim, shape)
        for k in range(n):
            loop_add(&it, inputs[k])
        if out != NULL:
            loop_add(&it, out)
        loop_ready(&it)
        loop_run(&it, loss_inner(loss, NUMPY_TYPE[dtype]), &data)
    if reduction == NONE:
        return out
    return number(dtype, data.total / <double>count if reduction == MEAN else data.total)


# The common dtype of a loss's tensors, or -1 with the refusal recorded.
cdef int loss_dtype(const char* name, Array* a, Array* b) noexcept nogil:
    cdef int dtype = result_dtype(a, b)
    if unlikely(not is_float_code(dtype)):
        fail_dtype(name, dtype)
        return -1
    return dtype


# Casts inputs to `dtype` (float32 for float16) and finds their broadcast shape; runs the loss.
cdef Array* loss_of(int loss, int dtype, Array** given, int n, int reduction, double factor, bint mean_of_count) noexcept nogil:
    cdef Array* inputs[5]
    cdef Array* out = NULL
    cdef Array shape_so_far
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t count = 1
    cdef int k, d, ndim = given[0].ndim
    cdef int computed = FLOAT32 if dtype == FLOAT16 else dtype
    cdef bint ready = True
    for d in range(ndim):
        shape[d] = given[0].shape[d]
    for k in range(1, n):
        shape_so_far.ndim = <short>ndim
        shape_so_far.shape = shape
        ndim = broadcast_shape(&shape_so_far, given[k], shape)
        if ndim < 0:
            return NULL
    if mean_of_count:
        for d in range(ndim):
            count *= shape[d]
        factor = 1.0 / <double>count
    for k in range(n):
        inputs[k] = cast(given[k], computed)
        ready = ready and inputs[k] != NULL
    if ready:
        out = run_loss(loss, computed, ndim, shape, inputs, n, reduction, factor)
    for k in range(n):
        array_decref(inputs[k])
    return to_half(out) if dtype == FLOAT16 else out


cdef Array* mse_loss(Array* a, Array* target, int reduction) noexcept nogil:
    cdef Array* given[2]
    cdef int dtype
    if a == NULL or target == NULL:
        return NULL
    dtype = loss_dtype("mse_loss", a, target)
    if dtype < 0:
        return NULL
    given[0] = a
    given[1] = target
    return loss_of(L_MSE, dtype, given, 2, reduction, 1, False)


cdef Array* mse_loss_backward(Array* grad, Array* a, Array* target, int reduction) noexcept nogil:
    cdef Array* given[3]
    cdef int dtype
    if grad == NULL or a == NULL or target == NULL:
        return NULL
    dtype = loss_dtype("mse_loss", a, target)
    if dtype < 0:
        return NULL
    given[0] = a
    given[1] = target
    given[2] = grad
    return loss_of(L_MSE_BACKWARD, dtype, given, 3, NONE, 1, reduction == MEAN)


# Whether the parameters of the loss broadcast to the shape of the input, which alone gives the loss its shape.
cdef int fits_input(const char* name, Array* a, Array* p) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef int d, ndim
    if p == NULL:
        return 0
    ndim = broadcast_shape(a, p, shape)
    if ndim < 0:
        return -1
    if ndim != a.ndim:
        return fail_s(ERR_RUNTIME, "cygrad binary_cross_entropy_with_logits: %s doesn't match the broadcast shape: it must broadcast to the input",
                      name, NULL, NULL)
    for d in range(ndim):
        if shape[d] != a.shape[d]:
            return fail_s(ERR_RUNTIME, "cygrad binary_cross_entropy_with_logits: %s doesn't match the broadcast shape: it must broadcast to the input",
                          name, NULL, NULL)
    return 0


cdef int bce_dtype(Array* a, Array* target, Array* weight, Array* pos_weight) noexcept nogil:
    cdef int d, dtype
    if target.ndim != a.ndim:
        return fail_i(ERR_RUNTIME, "cygrad binary_cross_entropy_with_logits: output doesn't match the broadcast shape: input has %ld dims, target %ld",
                      a.ndim, target.ndim, 0)
    for d in range(a.ndim):
        if a.shape[d] != target.shape[d]:
            return fail_i(ERR_RUNTIME, "cygrad binary_cross_entropy_with_logits: output doesn't match the broadcast shape: size %ld of the target at dim %ld must be %ld",
                          target.shape[d], d, a.shape[d])
    if fits_input("weight", a, weight) < 0 or fits_input("pos_weight", a, pos_weight) < 0:
        return -1
    if not is_float_code(a.dtype):
        fail_dtype("binary_cross_entropy_with_logits", a.dtype)
        return -1
    if not is_float_code(target.dtype):
        return fail_s(ERR_RUNTIME, "cygrad binary_cross_entropy_with_logits: result type %s can't be cast to the desired output type %s; convert the target",
                      dtype_cname(a.dtype), dtype_cname(target.dtype), NULL)
    dtype = loss_dtype("binary_cross_entropy_with_logits", a, target)
    if dtype >= 0 and weight != NULL:
        dtype = dtype if weight.ndim == 0 or weight.dtype <= dtype else weight.dtype
    return dtype


cdef Array* bce(int loss, Array* grad, Array* a, Array* target, Array* weight, Array* pos_weight, int reduction) noexcept nogil:
    cdef Array* given[5]
    cdef Array* one
    cdef Array* out
    cdef int dtype = bce_dtype(a, target, weight, pos_weight)
    if dtype < 0:
        return NULL
    one = number(FLOAT64, 1)
    if one == NULL:
        return NULL
    given[0] = a
    given[1] = target
    given[2] = weight if weight != NULL else one
    given[3] = pos_weight if pos_weight != NULL else one
    given[4] = grad
    if loss == L_BCE:
        out = loss_of(L_BCE, dtype, given, 4, reduction, 1, False)
    else:
        out = loss_of(L_BCE_BACKWARD, dtype, given, 5, NONE, 1, reduction == MEAN)
    array_decref(one)
    return out


cdef Array* binary_cross_entropy_with_logits(Array* a, Array* target, Array* weight, Array* pos_weight, int reduction) noexcept nogil:
    if a == NULL or target == NULL:
        return NULL
    return bce(L_BCE, NULL, a, target, weight, pos_weight, reduction)


cdef Array* binary_cross_entropy_with_logits_backward(Array* grad, Array* a, Array* target, Array* weight,
                                                      Array* pos_weight, int reduction) noexcept nogil:
    if grad == NULL or a == NULL or target == NULL:
        return NULL
    return bce(L_BCE_BACKWARD, grad, a, target, weight, pos_weight, reduction)
