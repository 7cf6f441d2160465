# Random tensors and random in-place fills, by NumPy's Generator, which writes into the tensors' memory and holds a lock of its own.
#
# Note [Gradients of random operations]
# A random value does not depend on what it replaces, nor on its parameters as far as torch is concerned: the gradient of each input is zero. Nodes exist
# all the same, under torch's names, so that the graph stays whole and leaves get zeros instead of None.

import math

import numpy

cimport numpy as cnp
from libc.string cimport memset
from cygrad._core.array cimport Array, CONTIGUOUS, array_decref, array_empty, array_empty_like, broadcast_shape
from cygrad._core.dtypes cimport (
    BOOL, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, UINT8, default_dtype, dtype_cname, dtype_object, is_complex_code,
    is_float_code, is_integral_code)
from cygrad._core.errors cimport error_clear, raise_pending
from cygrad._core.from_data cimport scalar_of
from cygrad._core.generator cimport numpy_generator
from cygrad._core.forward cimport boxed, forward_on, forward_open, tangent_write
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.ndarray cimport ndarray_from_array
from cygrad._core.node cimport Node, NodeType, node_new, node_register
from cygrad._core.sizes cimport check_place, check_requires_grad, dtype_or, finish, finish_out, parse_size, parse_size_sequence
from cygrad._core.inplace cimport inplace_check, inplace_history, version_bump
from cygrad._core.recording cimport edge_set, history_set
from cygrad._core.tensor cimport Tensor, tensor_wrap
from cygrad._core.writes cimport apply_zeros, recorded_zeros

from cygrad._core.creation import empty_like
from cygrad._core.tensor import _install_methods

__all__ = ["bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm"]

cnp.import_array()


# ---- nodes ----------------------------------------------------------------------------------------------------------

cdef enum Kind:
    UNIFORM, NORMAL, NORMAL_MEAN, NORMAL_STD, NORMAL_BOTH, BERNOULLI, BERNOULLI_TENSOR_, BERNOULLI_FLOAT_, RANDOM_FROM, RANDOM_TO, RANDOM, EXPONENTIAL, GEOMETRIC,
    CAUCHY, LOG_NORMAL, N_KINDS

cdef NodeType types[15]
cdef const char* NAMES[15]
NAMES[:] = ["UniformBackward0", "NormalBackward0", "NormalBackward1", "NormalBackward2", "NormalBackward3", "BernoulliBackward0", "BernoulliBackward1",
            "BernoulliBackward2", "RandomBackward0", "RandomBackward1", "RandomBackward2", "ExponentialBackward0", "GeometricBackward0", "CauchyBackward0",
            "LogNormalBackward0"]


cdef int register_nodes() except -1:
    cdef int k
    memset(types, 0, sizeof(types))
    for k in range(N_KINDS):
        types[k].name = NAMES[k]
        types[k].apply = apply_zeros
        types[k].recorded = recorded_zeros
        types[k].n_outputs = 1
        node_register(&types[k])
    return 0

register_nodes()


cdef int record(Tensor result, int kind, Tensor first, Tensor second) except -1:
    cdef Node n
    if not grad_enabled() or not ((first is not None and first.requires_grad_) or (second is not None and second.requires_grad_)):
        return 0
    n = node_new(&types[kind], 1 if second is None else 2)
    edge_set(n, 0, first, result.a)
    if second is not None:
        edge_set(n, 1, second, result.a)
    return history_set(result, n, 0)


cdef Tensor written(Tensor t, int kind, const char* name):
    # The end of an in-place fill: version, then history.
    cdef Node n
    version_bump(t, name)
    if t.requires_grad_ and grad_enabled():
        n = node_new(&types[kind], 1)
        edge_set(n, 0, t, NULL)
        inplace_history(t, n)
    if forward_open and forward_on() and boxed(t):
        tangent_write(t, None)
    return t


# ---- fills ----------------------------------------------------------------------------------------------------------

cdef object NUMPY_FLOAT32 = numpy.dtype(numpy.float32)
cdef object NUMPY_FLOAT64 = numpy.dtype(numpy.float64)

cdef int refuse_dtype(int code, const char* kernel) except -1:
    raise NotImplementedError(f"cygrad: \"{kernel.decode()}\" not implemented for '{dtype_cname(code).decode()}'; name a floating-point dtype")


cdef object real_parts(Array* a):
    # A flat ndarray over the elements if they are contiguous (complex ones as pairs), else None.
    cdef object view
    if not a.flags & CONTIGUOUS:
        return None
    view = ndarray_from_array(a).reshape(-1)
    if is_complex_code(a.dtype):
        view = view.view(NUMPY_FLOAT32 if a.dtype == COMPLEX64 else NUMPY_FLOAT64)
    return view


cdef object draw(Array* a, object method):
    # (flat ndarray of fresh numbers by method(size, dtype, out), whether it is the memory of `a` itself)
    cdef object view = real_parts(a)
    cdef object dtype = NUMPY_FLOAT32 if a.dtype == FLOAT32 or a.dtype == FLOAT16 or a.dtype == COMPLEX64 else NUMPY_FLOAT64
    cdef Py_ssize_t n = a.numel * (2 if is_complex_code(a.dtype) else 1)
    if view is not None and a.dtype != FLOAT16:
        method(None, dtype=dtype, out=view)
        return view, True
    return method(n, dtype=dtype), False


cdef int put_back(Array* a, object flat) except -1:
    # Numbers that were drawn beside the tensor's memory, in C order.
    cdef object target = ndarray_from_array(a)
    if is_complex_code(a.dtype):
        flat = flat.view(target.dtype)
    numpy.copyto(target, flat.reshape(target.shape), casting="unsafe")
    return 0


cdef int fill_uniform(Array* a, object rng, double low, double high) except -1:
    cdef object flat, target
    cdef bint direct
    if a.numel == 0:
        return 0
    flat, direct = draw(a, rng.random)
    if a.dtype == FLOAT16:
        # eleven bits, which float16 holds: rounding must not give 1
        flat *= 2048
        numpy.floor(flat, out=flat)
        flat *= 1.0 / 2048
    if low != 0 or high != 1:
        flat *= high - low
        flat += low
        if high > low:
            # rounding may have reached `high`, which is outside
            limit = numpy.nextafter(flat.dtype.type(high), flat.dtype.type(low))
            numpy.minimum(flat, limit, out=flat)
    if not direct:
        put_back(a, flat)
        if a.dtype == FLOAT16 and high > low and (low != 0 or high != 1):
            target = ndarray_from_array(a)
            numpy.minimum(target, numpy.nextafter(numpy.float16(high), numpy.float16(low)), out=target)
    return 0


cdef int fill_normal(Array* a, object rng, double mean, double std) except -1:
    cdef object flat
    cdef bint direct
    if a.numel == 0:
        return 0
    flat, direct = draw(a, rng.standard_normal)
    if is_complex_code(a.dtype):
        std *= math.sqrt(0.5)                   # the variance is shared by both parts
    if std != 1:
        flat *= std
    if mean != 0:
        if is_complex_code(a.dtype):
            flat[::2] += mean
        else:
            flat += mean
    if not direct:
        put_back(a, flat)
    return 0


cdef object LIMITS = {
    # dtype: name in messages, lowest and highest integer, largest n such that 0 ... n are all exact (random_() without bounds)
    BOOL: ("bool", 0, 1, 1), UINT8: ("unsigned char", 0, 255, 255), INT8: ("signed char", -128, 127, 127), INT16: ("short", -(1 << 15), (1 << 15) - 1, (1 << 15) - 1),
    INT32: ("int", -(1 << 31), (1 << 31) - 1, (1 << 31) - 1), INT64: ("int64_t", -(1 << 63), (1 << 63) - 1, (1 << 63) - 1),
    FLOAT16: ("at::Half", -65504, 65504, 1 << 11), FLOAT32: ("float", -(1 << 63), (1 << 63) - 1, 1 << 24), FLOAT64: ("double", -(1 << 63), (1 << 63) - 1, 1 << 53),
}


cdef int integer_bounds(int code, object low, object high, const char* operation) except -1:
    # low and high - 1 must be values of the dtype.
    for value in (low, high):
        if isinstance(value, (bool, float)) or not hasattr(type(value), "__index__"):
            raise TypeError(f"cygrad.{operation.decode()}(): the bounds must be int, not {type(value).__name__}")
        if not -(1 << 63) <= value <= (1 << 63) - 1:
            raise ValueError(f"cygrad.{operation.decode()}: Overflow when unpacking long long: {value}")
    if is_complex_code(code):
        raise RuntimeError(f"cygrad.{operation.decode()}: check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(f"cygrad.{operation.decode()}: random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    name, lowest, highest, _ = LIMITS[code]
    if not lowest <= low <= highest:
        raise RuntimeError(f"cygrad.{operation.decode()}: from is out of bounds for {name}")
    if not lowest <= high - 1 <= highest:
        raise RuntimeError(f"cygrad.{operation.decode()}: to - 1 is out of bounds for {name}")
    return 0


cdef int fill_integers(Array* a, object rng, object low, object last) except -1:
    # low ... last, both included
    cdef object target = ndarray_from_array(a)
    numpy.copyto(target, rng.integers(low, last, size=target.shape, dtype=numpy.int64, endpoint=True), casting="unsafe")
    return 0


cdef double probability(object p, const char* operation) except? -2:
    cdef double value = scalar_of(p, operation, "p")
    if not 0 <= value <= 1:
        raise RuntimeError(f"cygrad.{operation.decode()}: bernoulli_ expects p to be in [0, 1], but got p={p}")
    return value


cdef object probabilities(Tensor p, const char* operation):
    cdef object values
    if not is_float_code(p.a.dtype):
        refuse_dtype(p.a.dtype, "bernoulli_tensor_cpu_p_")
    values = ndarray_from_array(p.a)
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError(f"cygrad.{operation.decode()}: Expected p_in >= 0 && p_in <= 1 to be true, but got false: every probability must lie in [0, 1]")
    return values


cdef int fill_bernoulli(Array* a, object rng, object p) except -1:
    # p: a float, or an ndarray that broadcasts to the shape
    cdef object target = ndarray_from_array(a)
    numpy.copyto(target, rng.random(target.shape) < p, casting="unsafe")
    return 0


cdef Array* bernoulli_array(int dtype, int ndim, const Py_ssize_t* shape, double p, double scale) except NULL:
    cdef Array* a = array_empty(dtype, ndim, shape)
    cdef object target, drawn
    if a == NULL:
        raise_pending()
    try:
        target = ndarray_from_array(a)
        drawn = numpy_generator(None, "dropout").random(target.shape, dtype=NUMPY_FLOAT64 if dtype == FLOAT64 else NUMPY_FLOAT32) < p
        numpy.multiply(drawn, scale, out=target, casting="unsafe")
    except:
        array_decref(a)
        raise
    return a


cdef double standard_deviation(object std, const char* operation) except? -2:
    cdef double value = scalar_of(std, operation, "std")
    if not value >= 0:
        raise RuntimeError(f"cygrad.{operation.decode()}: normal expects std >= 0.0, but found std {std}")
    return value


# ---- new tensors ----------------------------------------------------------------------------------------------------

cdef Tensor filled(Array* a, str how, object rng, object x, object y):
    # Steals the reference; a tensor only if the fill succeeded.
    if a == NULL:
        raise_pending()
    try:
        if how == "uniform":
            fill_uniform(a, rng, x, y)
        elif how == "normal":
            fill_normal(a, rng, x, y)
        elif how == "bernoulli":
            fill_bernoulli(a, rng, x)
        else:
            fill_integers(a, rng, x, y)
    except:
        array_decref(a)
        raise
    return tensor_wrap(a)


cdef Tensor give(Tensor t, object requires_grad, Tensor out, const char* operation):
    if out is not None:
        inplace_check(out, operation)
        out.copy_(t)
        return out
    if requires_grad is True:
        t.requires_grad_ = True
    return t


def rand(*args: object, size: object = None, generator: object = None, out: Tensor | None = None, dtype: object = None, layout: object = None,
         device: object = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Numbers from the uniform distribution on [0, 1), in a tensor of the given size (complex dtypes: both parts). NotImplementedError for integer dtypes."""
    cdef Py_ssize_t sizes[64]
    cdef int ndim = parse_size(args, size, "rand", sizes)
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "rand")
    cdef object rng = numpy_generator(generator, "rand")
    check_place(layout, device, pin_memory, "rand")
    if is_integral_code(code):
        refuse_dtype(code, "check_uniform_bounds")
    return give(filled(array_empty(code, ndim, sizes), "uniform", rng, 0, 1), requires_grad, out, "rand")


def randn(*args: object, size: object = None, generator: object = None, out: Tensor | None = None, dtype: object = None, layout: object = None,
          device: object = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Numbers from the standard normal distribution, in a tensor of the given size (complex dtypes: variance 1/2 in each part).

    NotImplementedError for integer dtypes.
    """
    cdef Py_ssize_t sizes[64]
    cdef int ndim = parse_size(args, size, "randn", sizes)
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "randn")
    cdef object rng = numpy_generator(generator, "randn")
    check_place(layout, device, pin_memory, "randn")
    if is_integral_code(code):
        refuse_dtype(code, "normal_kernel_cpu")
    return give(filled(array_empty(code, ndim, sizes), "normal", rng, 0, 1), requires_grad, out, "randn")


def randint(*args: object, low: object = None, high: object = None, size: object = None, generator: object = None, out: Tensor | None = None,
            dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Integers from ``low`` (0) up to, not including, ``high``: ``randint(high, size)`` or ``randint(low, high, size)``; int64 unless another dtype is given.

    Raises RuntimeError if low >= high or a bound is no value of the dtype.
    """
    cdef Py_ssize_t sizes[64]
    cdef int ndim, code
    cdef list given = list(args)
    if size is None:
        if not given:
            raise TypeError("cygrad.randint() missing 1 required positional arguments: \"size\"")
        size = given.pop()
    if high is None:
        if not given:
            raise TypeError("cygrad.randint() missing 1 required positional arguments: \"high\"")
        high = given.pop()
    if given:
        if low is not None:
            raise TypeError("cygrad.randint(): argument 'low' was given twice")
        low = given.pop()
    if given:
        raise TypeError(f"cygrad.randint() takes at most 3 positional arguments but {len(args)} were given")
    low = 0 if low is None else low
    ndim = parse_size_sequence(size, "randint", len(args), sizes)
    code = dtype_or(dtype, INT64 if out is None else out.a.dtype, "randint")
    rng = numpy_generator(generator, "randint")
    check_place(layout, device, pin_memory, "randint")
    check_requires_grad(code, requires_grad, "randint")
    integer_bounds(code, low, high, "randint")
    return give(filled(array_empty(code, ndim, sizes), "integers", rng, low, high - 1), requires_grad, out, "randint")


def randperm(n: object, *, generator: object = None, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The integers 0 ... n - 1 in random order; int64 unless another dtype is given, which must hold n. RuntimeError for negative n."""
    cdef Py_ssize_t count
    cdef int code = dtype_or(dtype, INT64 if out is None else out.a.dtype, "randperm")
    cdef Tensor t
    rng = numpy_generator(generator, "randperm")
    check_place(layout, device, pin_memory, "randperm")
    check_requires_grad(code, requires_grad, "randperm")
    if isinstance(n, (bool, float)) or not hasattr(type(n), "__index__"):
        raise TypeError(f"cygrad.randperm(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"cygrad.randperm: Trying to create tensor with negative dimension {n}; n must be non-negative")
    if code == BOOL or is_complex_code(code):
        refuse_dtype(code, "randperm")
    if n > LIMITS[code][2] or (is_float_code(code) and n > LIMITS[code][3]):
        raise RuntimeError(f"cygrad.randperm: value cannot be converted to type {dtype_object(code).name} without overflow: {n}")
    count = n
    t = tensor_wrap(array_empty(code, 1, &count))
    numpy.copyto(ndarray_from_array(t.a), rng.permutation(count), casting="unsafe")
    return give(t, requires_grad, out, "randperm")


cdef Tensor normal_tensors(Tensor mean, Tensor std, double mean_value, double std_value, object rng):
    # N(mean, std ** 2), elementwise and broadcast; a tensor or a number for each.
    cdef Py_ssize_t sizes[64]
    cdef int ndim, kind
    cdef Array* like = mean.a if mean is not None else std.a
    cdef Tensor t
    if is_integral_code(like.dtype):
        refuse_dtype(like.dtype, "normal_kernel_cpu")
    if mean is not None and std is not None:
        ndim = broadcast_shape(mean.a, std.a, sizes)
        if ndim < 0:
            raise_pending()
        t = filled(array_empty(like.dtype, ndim, sizes), "normal", rng, 0, 1)
        kind = NORMAL_BOTH
    else:
        t = filled(array_empty(like.dtype, like.ndim, like.shape), "normal", rng, 0, 1)
        kind = NORMAL_MEAN if std is None else NORMAL_STD
    values = ndarray_from_array(t.a)
    if std is not None:
        deviations = ndarray_from_array(std.a)
        if is_complex_code(std.a.dtype):
            raise RuntimeError("cygrad.normal: normal expects standard deviation to be non-complex")
        if not (deviations >= 0).all():
            raise RuntimeError("cygrad.normal: normal expects all elements of std >= 0.0")
        numpy.multiply(values, deviations, out=values, casting="unsafe")
    elif std_value != 1:
        values *= std_value
    if mean is not None:
        numpy.add(values, ndarray_from_array(mean.a), out=values, casting="unsafe")
    elif mean_value != 0:
        values += mean_value
    if mean is None:
        record(t, kind, std, None)
    else:
        record(t, kind, mean, std)
    return t


def normal(mean: object = 0.0, std: object = 1.0, size: object = None, *, generator: object = None, out: Tensor | None = None, dtype: object = None,
           layout: object = None, device: object = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Numbers from normal distributions: ``normal(mean, std)`` with tensors that broadcast (or one tensor and a number), or numbers with ``size``.

    Raises RuntimeError for a negative standard deviation, NotImplementedError for integer dtypes.
    """
    cdef Py_ssize_t sizes[64]
    cdef int ndim, code
    cdef Tensor mean_tensor = mean if isinstance(mean, Tensor) else None
    cdef Tensor std_tensor = std if isinstance(std, Tensor) else None
    cdef double mean_value = 0, std_value = 1
    rng = numpy_generator(generator, "normal")
    if mean_tensor is None:
        mean_value = scalar_of(mean, "normal", "mean")
    if std_tensor is None:
        std_value = standard_deviation(std, "normal")
    if mean_tensor is not None or std_tensor is not None:
        if size is not None:
            raise TypeError("cygrad.normal(): size goes with numbers; with a tensor the size is the tensor's")
        return give(normal_tensors(mean_tensor, std_tensor, mean_value, std_value, rng), False, out, "normal")
    if size is None:
        raise TypeError("cygrad.normal() received an invalid combination of arguments: numbers for mean and std need size")
    ndim = parse_size_sequence(size, "normal", 3, sizes)
    code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "normal")
    check_place(layout, device, pin_memory, "normal")
    if is_integral_code(code):
        refuse_dtype(code, "normal_kernel_cpu")
    return give(filled(array_empty(code, ndim, sizes), "normal", rng, mean_value, std_value), requires_grad, out, "normal")


def bernoulli(input: Tensor, p: object = None, *, generator: object = None, out: Tensor | None = None) -> Tensor:
    """0 or 1 at random: each element is the probability of its 1; with ``p``, that is the probability for all.

    Raises RuntimeError for probabilities outside of [0, 1], NotImplementedError if ``input`` holds integers. The gradient is zero.
    """
    cdef Tensor t
    rng = numpy_generator(generator, "bernoulli")
    if p is None:
        t = filled(array_empty_like(input.a, input.a.dtype), "bernoulli", rng, probabilities(input, "bernoulli"), None)
        record(t, BERNOULLI, input, None)
    else:
        t = filled(array_empty_like(input.a, input.a.dtype), "bernoulli", rng, probability(p, "bernoulli"), None)
    return give(t, False, out, "bernoulli")


def multinomial(input: Tensor, num_samples: object, replacement: bool = False, *, generator: object = None, out: Tensor | None = None) -> Tensor:
    """Indices drawn in proportion to the weights in ``input``, of shape (n,) or (rows, n): a tensor (num_samples,) or (rows, num_samples) of int64.

    Without replacement, the indices with the largest w / e are taken, e exponential (P. Efraimidis and P. Spirakis, "Weighted random sampling with a
    reservoir", 2006). Raises RuntimeError for other shapes, integer weights, weights that are negative or not finite, and rows that sum to zero.
    """
    cdef Py_ssize_t sizes[2]
    cdef int ndim = input.a.ndim
    cdef Tensor t
    rng = numpy_generator(generator, "multinomial")
    if isinstance(num_samples, (bool, float)) or not hasattr(type(num_samples), "__index__"):
        raise TypeError(f"cygrad.multinomial(): argument 'num_samples' (position 2) must be int, not {type(num_samples).__name__}")
    if ndim != 1 and ndim != 2:
        raise RuntimeError(f"cygrad.multinomial: prob_dist must be 1 or 2 dim, got {ndim}")
    if not is_float_code(input.a.dtype):
        raise RuntimeError(f"cygrad.multinomial only supports floating-point dtypes for input, got: {dtype_cname(input.a.dtype).decode()}")
    if num_samples <= 0:
        raise RuntimeError(f"cygrad.multinomial: cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > input.a.shape[ndim - 1]:
        raise RuntimeError(f"cygrad.multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} > {input.a.shape[ndim - 1]}")
    weights = ndarray_from_array(input.a).astype(numpy.float64)
    if not (numpy.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("cygrad.multinomial: probability tensor contains either `inf`, `nan` or element < 0")
    if weights.shape[ndim - 1] == 0 or not (weights.sum(axis=-1) > 0).all():
        raise RuntimeError("cygrad.multinomial: invalid multinomial distribution (sum of probabilities <= 0)")
    sizes[0] = input.a.shape[0]
    sizes[ndim - 1] = num_samples
    t = tensor_wrap(array_empty(INT64, ndim, sizes))
    target = ndarray_from_array(t.a)
    if replacement:
        bounds = weights.cumsum(axis=-1)
        points = (1.0 - rng.random(target.shape)) * bounds[..., -1:]       # in (0, sum]: an index of weight 0 has no width to be hit
        if ndim == 1:
            target[...] = numpy.searchsorted(bounds, points, side="left")
        else:
            for row in range(sizes[0]):
                target[row] = numpy.searchsorted(bounds[row], points[row], side="left")
    else:
        keys = weights / rng.standard_exponential(weights.shape)
        target[...] = numpy.argsort(-keys, axis=-1, kind="stable")[..., :num_samples]
    return give(t, False, out, "multinomial")


def rand_like(input: Tensor, *, generator: object = None, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
              memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """``rand`` in the shape, dtype and layout of ``input``."""
    cdef Tensor t
    rng = numpy_generator(generator, "rand_like")
    t = empty_like(input, dtype=dtype, layout=layout, device=device, memory_format=memory_format, pin_memory=pin_memory)
    if is_integral_code(t.a.dtype):
        refuse_dtype(t.a.dtype, "check_uniform_bounds")
    fill_uniform(t.a, rng, 0, 1)
    return give(t, requires_grad, None, "rand_like")


def randn_like(input: Tensor, *, generator: object = None, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
               memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """``randn`` in the shape, dtype and layout of ``input``."""
    cdef Tensor t
    rng = numpy_generator(generator, "randn_like")
    t = empty_like(input, dtype=dtype, layout=layout, device=device, memory_format=memory_format, pin_memory=pin_memory)
    if is_integral_code(t.a.dtype):
        refuse_dtype(t.a.dtype, "normal_kernel_cpu")
    fill_normal(t.a, rng, 0, 1)
    return give(t, requires_grad, None, "randn_like")


def randint_like(input: Tensor, *args: object, low: object = None, high: object = None, generator: object = None, dtype: object = None,
                 layout: object = None, device: object = None, requires_grad: bool = False, memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """``randint`` in the shape, dtype and layout of ``input``: ``randint_like(input, high)`` or ``randint_like(input, low, high)``."""
    cdef Tensor t
    cdef list given = list(args)
    rng = numpy_generator(generator, "randint_like")
    if high is None:
        if not given:
            raise TypeError("cygrad.randint_like() missing 1 required positional arguments: \"high\"")
        high = given.pop()
    if given:
        low = given.pop()
    if given:
        raise TypeError(f"cygrad.randint_like() takes at most 3 positional arguments but {len(args) + 1} were given")
    low = 0 if low is None else low
    t = empty_like(input, dtype=dtype, layout=layout, device=device, memory_format=memory_format, pin_memory=pin_memory)
    check_requires_grad(t.a.dtype, requires_grad, "randint_like")
    integer_bounds(t.a.dtype, low, high, "randint_like")
    fill_integers(t.a, rng, low, high - 1)
    return give(t, requires_grad, None, "randint_like")


# ---- in place -------------------------------------------------------------------------------------------------------

def uniform_(self: Tensor, *args: object, to: object = None, generator: object = None, **named: object) -> Tensor:
    """Fill with numbers from the uniform distribution on [from, to), by default [0, 1): ``uniform_(from, to)``. Returns the tensor.

    Raises RuntimeError for from > to, bounds that are not finite or too far apart, NotImplementedError for integer dtypes.
    """
    cdef list given = list(args)
    cdef double low, high
    low_object = named.pop("from", None)
    if named:
        raise TypeError(f"cygrad.Tensor.uniform_() got an unexpected keyword argument '{next(iter(named))}'")
    if given:
        low_object = given.pop(0)
    if given:
        to = given.pop(0)
    if given:
        raise TypeError(f"cygrad.Tensor.uniform_() takes at most 2 positional arguments but {len(args)} were given")
    low = scalar_of(0.0 if low_object is None else low_object, "Tensor.uniform_", "from")
    high = scalar_of(1.0 if to is None else to, "Tensor.uniform_", "to")
    rng = numpy_generator(generator, "Tensor.uniform_")
    if is_integral_code(self.a.dtype):
        refuse_dtype(self.a.dtype, "check_uniform_bounds")
    if low > high:
        raise RuntimeError(f"cygrad.Tensor.uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    largest = 65504.0 if self.a.dtype == FLOAT16 else float(numpy.finfo(numpy.float32).max) if self.a.dtype in (FLOAT32, COMPLEX64) else float(numpy.finfo(numpy.float64).max)
    for name, value in (("from", low), ("to", high)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"cygrad.Tensor.uniform_: {name} is out of bounds for {dtype_object(self.a.dtype).name}")
    if not high - low <= largest:
        raise RuntimeError(f"cygrad.Tensor.uniform_ expects to-from <= std::numeric_limits<{dtype_cname(self.a.dtype).decode()}>::max(), but found to={high} and from={low}")
    inplace_check(self, "uniform_")
    fill_uniform(self.a, rng, low, high)
    return written(self, UNIFORM, "uniform_")


def normal_(self: Tensor, mean: object = 0, std: object = 1, *, generator: object = None) -> Tensor:
    """Fill with numbers from the normal distribution. Returns the tensor. RuntimeError for a negative std, NotImplementedError for integer dtypes."""
    cdef double centre = scalar_of(mean, "Tensor.normal_", "mean")
    cdef double deviation = standard_deviation(std, "Tensor.normal_")
    rng = numpy_generator(generator, "Tensor.normal_")
    if is_integral_code(self.a.dtype):
        refuse_dtype(self.a.dtype, "normal_kernel_cpu")
    inplace_check(self, "normal_")
    fill_normal(self.a, rng, centre, deviation)
    return written(self, NORMAL, "normal_")


def bernoulli_(self: Tensor, p: object = 0.5, *, generator: object = None) -> Tensor:
    """Fill with 1 with probability ``p`` (a number, or a tensor that broadcasts), else 0. Returns the tensor. RuntimeError for p outside of [0, 1]."""
    cdef Py_ssize_t sizes[64]
    cdef Tensor q
    cdef object chance
    rng = numpy_generator(generator, "Tensor.bernoulli_")
    if isinstance(p, Tensor):
        q = p
        chance = probabilities(q, "Tensor.bernoulli_")
        if broadcast_shape(self.a, q.a, sizes) != self.a.ndim or tuple([sizes[i] for i in range(self.a.ndim)]) != tuple(self.shape):
            error_clear()           # broadcast_shape may have recorded its own words for it
            raise RuntimeError(f"cygrad.Tensor.bernoulli_: The expanded size of the tensor must match: p of shape {list(p.shape)} does not expand to {list(self.shape)}")
    else:
        chance = probability(p, "Tensor.bernoulli_")
    inplace_check(self, "bernoulli_")
    fill_bernoulli(self.a, rng, chance)
    return written(self, BERNOULLI_TENSOR_ if isinstance(p, Tensor) else BERNOULLI_FLOAT_, "bernoulli_")


def random_(self: Tensor, *args: object, to: object = None, generator: object = None, **named: object) -> Tensor:
    """Fill with random integers: ``random_(to)`` from 0, ``random_(from, to)``, or ``random_()`` over all that the dtype counts exactly from 0.

    Returns the tensor. Raises RuntimeError if from >= to or a bound is no value of the dtype.
    """
    cdef list given = list(args)
    cdef int kind
    low = named.pop("from", None)
    if named:
        raise TypeError(f"cygrad.Tensor.random_() got an unexpected keyword argument '{next(iter(named))}'")
    if len(given) > 2:
        raise TypeError(f"cygrad.Tensor.random_() takes at most 2 positional arguments but {len(args)} were given")
    kind = RANDOM
    if len(given) == 1 and to is None and low is None:
        low, to = 0, given[0]
        kind = RANDOM_TO
    elif given:
        low = given[0]
        to = given[1] if len(given) > 1 else to
        kind = RANDOM_FROM
    elif low is not None or to is not None:
        kind = RANDOM_TO if low is None else RANDOM_FROM
    rng = numpy_generator(generator, "Tensor.random_")
    if is_complex_code(self.a.dtype):
        refuse_dtype(self.a.dtype, "random_cpu")
    if to is None:
        last = LIMITS[self.a.dtype][3]
        low = 0 if low is None else low
        integer_bounds(self.a.dtype, low, max(last, low + 1), "Tensor.random_")
    else:
        low = 0 if low is None else low
        integer_bounds(self.a.dtype, low, to, "Tensor.random_")
        last = to - 1
    inplace_check(self, "random_")
    fill_integers(self.a, rng, low, last)
    return written(self, kind, "random_")


cdef int check_continuous(Tensor t, str name) except -1:
    if not is_float_code(t.a.dtype):
        raise RuntimeError(f"cygrad: {name} distribution is a continuous probability distribution. dtype must be a floating point but you specified {dtype_cname(t.a.dtype).decode()}")
    return 0


def exponential_(self: Tensor, lambd: object = 1, *, generator: object = None) -> Tensor:
    """Fill with numbers from the exponential distribution of rate ``lambd``, which must be positive (RuntimeError). Returns the tensor."""
    cdef double rate = scalar_of(lambd, "Tensor.exponential_", "lambd")
    cdef bint direct
    rng = numpy_generator(generator, "Tensor.exponential_")
    if not rate > 0:
        raise RuntimeError(f"cygrad.Tensor.exponential_ expects lambda > 0.0, but found lambda={lambd}")
    check_continuous(self, "Exponential")
    inplace_check(self, "exponential_")
    if self.a.numel:
        flat, direct = draw(self.a, rng.standard_exponential)
        if rate != 1:
            flat *= 1.0 / rate
        if not direct:
            put_back(self.a, flat)
    return written(self, EXPONENTIAL, "exponential_")


def cauchy_(self: Tensor, median: object = 0, sigma: object = 1, *, generator: object = None) -> Tensor:
    """Fill with numbers from the Cauchy distribution. Returns the tensor. RuntimeError for sigma <= 0 and for dtypes that are not floating point."""
    cdef double centre = scalar_of(median, "Tensor.cauchy_", "median")
    cdef double scale = scalar_of(sigma, "Tensor.cauchy_", "sigma")
    cdef bint direct
    rng = numpy_generator(generator, "Tensor.cauchy_")
    if not scale > 0:
        raise RuntimeError(f"cygrad.Tensor.cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    check_continuous(self, "Cauchy")
    inplace_check(self, "cauchy_")
    if self.a.numel:
        flat, direct = draw(self.a, rng.random)
        flat -= 0.5
        flat *= math.pi
        numpy.tan(flat, out=flat)
        flat *= scale
        flat += centre
        if not direct:
            put_back(self.a, flat)
    return written(self, CAUCHY, "cauchy_")


def log_normal_(self: Tensor, mean: object = 1, std: object = 2, *, generator: object = None) -> Tensor:
    """Fill with exponentials of normal numbers of this mean and deviation. Returns the tensor. RuntimeError for std <= 0 and for dtypes that are not floating point."""
    cdef double centre = scalar_of(mean, "Tensor.log_normal_", "mean")
    cdef double deviation = scalar_of(std, "Tensor.log_normal_", "std")
    cdef bint direct
    rng = numpy_generator(generator, "Tensor.log_normal_")
    if not deviation > 0:
        raise RuntimeError(f"cygrad.Tensor.log_normal_ expects std > 0.0, but found std={std}")
    if not is_float_code(self.a.dtype):
        refuse_dtype(self.a.dtype, "log_normal_cpu")
    inplace_check(self, "log_normal_")
    if self.a.numel:
        flat, direct = draw(self.a, rng.standard_normal)
        flat *= deviation
        flat += centre
        numpy.exp(flat, out=flat)
        if not direct:
            put_back(self.a, flat)
    return written(self, LOG_NORMAL, "log_normal_")


def geometric_(self: Tensor, p: object, *, generator: object = None) -> Tensor:
    """Fill with the number of trials until the first success of probability ``p``. Returns the tensor. RuntimeError for p outside of (0, 1)."""
    cdef double chance = scalar_of(p, "Tensor.geometric_", "p")
    rng = numpy_generator(generator, "Tensor.geometric_")
    if not 0 < chance < 1:
        raise RuntimeError(f"cygrad.Tensor.geometric_ expects p to be in (0, 1), but got p={p}")
    if is_complex_code(self.a.dtype) or self.a.dtype == BOOL:
        refuse_dtype(self.a.dtype, "geometric_cpu")
    inplace_check(self, "geometric_")
    if self.a.numel:
        put_back(self.a, rng.geometric(chance, self.a.numel))
    return written(self, GEOMETRIC, "geometric_")


_methods = {"cauchy_": cauchy_, "geometric_": geometric_, "log_normal_": log_normal_, "uniform_": uniform_, "normal_": normal_, "bernoulli_": bernoulli_, "random_": random_, "exponential_": exponential_, "bernoulli": bernoulli,
            "multinomial": multinomial}
_install_methods(_methods)
