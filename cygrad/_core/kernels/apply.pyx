# Inner loops over operands of any geometry and dtype. Contract: apply.pxd.

from cygrad._core.array cimport (
    Array, array_empty, array_empty_like, array_empty_ordered, array_incref, array_decref, array_unshared, dims_sort, same_shape, broadcast_shape, result_dtype, shape_text,
    CONTIGUOUS, WRAPPED)
from cygrad._core.atomics cimport likely
from cygrad._core.dtypes cimport ITEMSIZE, BOOL, FLOAT16, COMPLEX128, is_complex_code, dtype_cname, float_for
from cygrad._core.errors cimport fail_s, ERR_RUNTIME, ERR_NOT_IMPLEMENTED
from cygrad._core.kernels.copy cimport cast_loop, convert_element, copy_into, memory_overlaps
from cygrad._core.kernels.iterate cimport InnerLoop, Loop, loop_init, loop_add, loop_ready, loop_run
from cygrad._core.kernels.parallel cimport inner_run, loop_run_split

cdef enum:
    BUFFER = 4096            # bytes of one operand that are cast at a time: six of them stay in the first-level cache

cdef struct Blocks:          # what blocks_inner does with each operand: NULL where the dtype is the loop's own
    Call* call
    InnerLoop load[5]
    InnerLoop store
    int sizes[6]             # bytes of the loop's inputs and output
    Py_ssize_t length        # elements at a time


cdef Array* fail_dtype(const char* name, int dtype) noexcept nogil:
    fail_s(ERR_NOT_IMPLEMENTED, "%s: not implemented for '%s'; convert the tensor to a dtype that this operation supports first", name,
           dtype_cname(dtype), "")
    return NULL


cdef int promote_all(int n, Array** operands) noexcept nogil:
    # One group for each of the three priorities of result_dtype: within a group and then from group to group, pairs decide.
    cdef Array[3] groups
    cdef bint[3] seen
    cdef int i, g, t = -1
    cdef Array total
    if n == 1:
        return result_dtype(operands[0], NULL)
    if n == 2:
        return result_dtype(operands[0], operands[1])
    seen[0] = seen[1] = seen[2] = False
    for i in range(n):
        g = 2 if operands[i].flags & WRAPPED else 0 if operands[i].ndim > 0 else 1
        if seen[g]:
            groups[g].dtype = <short>result_dtype(&groups[g], operands[i])
        else:
            groups[g] = operands[i][0]
            seen[g] = True
    for g in range(3):
        if seen[g]:
            if t < 0:
                total = groups[g]
                t = result_dtype(&total, NULL)
            else:
                t = result_dtype(&total, &groups[g])
                total.dtype = <short>t
    return t


cdef int broadcast_all(const char* name, int n, Array** operands, Py_ssize_t* shape) noexcept nogil:
    cdef Py_ssize_t other[64]
    cdef Array* a
    cdef int ndim = 0, i, k, lead, first, second
    for k in range(n):
        if operands[k].ndim > ndim:
            ndim = operands[k].ndim
    for i in range(ndim):
        shape[i] = 1
    for k in range(n):
        a = operands[k]
        lead = ndim - a.ndim
        for i in range(a.ndim):
            if a.shape[i] == 1 or a.shape[i] == shape[lead + i]:
                continue
            if shape[lead + i] != 1:
                # two of the operands disagree: broadcast_shape finds them and words the refusal
                for second in range(n):
                    for first in range(second):
                        if broadcast_shape(operands[first], operands[second], other) < 0:
                            return -1
                return fail_s(ERR_RUNTIME, "%s: the shapes of the operands do not broadcast; reshape one of them", name, "", "")
            shape[lead + i] = a.shape[i]
    return ndim


cdef void blocks_inner(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    cdef Blocks* b = <Blocks*>data
    cdef Call* c = b.call
    cdef int n = c.n
    cdef char[6][4096] buffers
    cdef char* inner_args[6]
    cdef Py_ssize_t inner_strides[6]
    cdef char* cast_args[2]
    cdef Py_ssize_t cast_strides[2]
    cdef Py_ssize_t left = count[0], at = 0, one = 1, m
    cdef int k
    while left > 0:
        m = b.length if left > b.length else left
        for k in range(n):
            inner_args[k] = args[k] + at * strides[k]
            inner_strides[k] = strides[k]
            if b.load[k] != NULL:
                cast_args[0] = inner_args[k]
                cast_args[1] = buffers[k]
                cast_strides[0] = strides[k]
                cast_strides[1] = b.sizes[k]
                b.load[k](cast_args, &m if strides[k] != 0 else &one, cast_strides, NULL)
                inner_args[k] = buffers[k]
                inner_strides[k] = b.sizes[k] if strides[k] != 0 else 0
        inner_args[n] = args[n] + at * strides[n]
        inner_strides[n] = strides[n]
        if b.store == NULL:
            c.inner(inner_args, &m, inner_strides, c.data)
        else:
            cast_args[0] = buffers[n]
            cast_args[1] = inner_args[n]
            cast_strides[0] = b.sizes[n]
            cast_strides[1] = strides[n]
            inner_args[n] = buffers[n]
            inner_strides[n] = b.sizes[n]
            c.inner(inner_args, &m, inner_strides, c.data)
            b.store(cast_args, &m, cast_strides, NULL)
        at += m
        left -= m


cdef void run(Call* c, Array* result) noexcept nogil:
    # The operands broadcast to the result; memory does not overlap but where operand and result are the very same elements.
    cdef Loop it
    cdef Blocks blocks
    cdef void (*run_loop)(Loop*, InnerLoop, void*) noexcept nogil
    cdef double[5][2] numbers
    cdef bint casts = False
    cdef int k, largest = 1
    cdef Array* a
    loop_init(&it, result.ndim, result.shape)
    for k in range(c.n):
        a = c.operands[k]
        loop_add(&it, a)
        blocks.load[k] = NULL
        if a.dtype != c.dtypes[k]:
            if a.numel == 1:
                convert_element(a.dtype, a.data, c.dtypes[k], <char*>numbers[k])
                it.data[k] = <char*>numbers[k]
            else:
                blocks.load[k] = cast_loop(a.dtype, c.dtypes[k])
                casts = True
    loop_add(&it, result)
    loop_ready(&it)
    run_loop = loop_run              # elements that lie on each other are written in order
    if dense(result):
        run_loop = loop_run_split
    blocks.store = NULL
    if result.dtype != c.dtypes[c.n]:
        blocks.store = cast_loop(c.dtypes[c.n], result.dtype)
        casts = True
    if not casts:
        run_loop(&it, c.inner, c.data)
        return
    blocks.call = c
    for k in range(c.n + 1):
        blocks.sizes[k] = ITEMSIZE[c.dtypes[k]]
        if blocks.sizes[k] > largest:
            largest = blocks.sizes[k]
    blocks.length = BUFFER // largest
    run_loop(&it, blocks_inner, &blocks)


cdef inline bint same_elements(Array* a, Array* b) noexcept nogil:
    cdef int i
    if a == b:
        return True
    if a.data != b.data or a.dtype != b.dtype or not same_shape(a, b):
        return False
    for i in range(a.ndim):
        if a.shape[i] != 1 and a.strides[i] != b.strides[i]:
            return False
    return True


cdef bint dense(Array* a) noexcept nogil:
    # its elements fill the memory that they span
    cdef int i
    cdef Py_ssize_t bytes = ITEMSIZE[a.dtype], step
    if a.flags & CONTIGUOUS:
        return True
    for i in range(a.ndim):
        step = a.strides[i] if a.strides[i] >= 0 else -a.strides[i]
        if step == 0 and a.shape[i] != 1:
            return False
        bytes += (a.shape[i] - 1) * step
    return bytes == a.numel * ITEMSIZE[a.dtype]


cdef bint can_store(int source, int target) noexcept nogil:
    if is_complex_code(source):
        return is_complex_code(target)
    if source >= FLOAT16:
        return target >= FLOAT16
    return source == BOOL or target != BOOL


cdef int check_out(Call* c, Array* out, int ndim, const Py_ssize_t* shape, bint* apart) noexcept nogil:
    # Refuses what torch refuses to write to; sets apart where the result must be computed in memory of its own first.
    cdef int i
    cdef bint fits = out.ndim == ndim
    cdef char have[200]
    cdef char want[200]
    apart[0] = False
    if not can_store(c.result, out.dtype):
        return fail_s(ERR_RUNTIME, "%s: result type %s can't be cast to the desired output type %s; use the operation that makes a new tensor", c.name,
                      dtype_cname(c.result), dtype_cname(out.dtype))
    if fits:
        for i in range(ndim):
            fits = fits and out.shape[i] == shape[i]
    if not fits:
        shape_text(have, sizeof(have), out.ndim, out.shape)
        shape_text(want, sizeof(want), ndim, shape)
        return fail_s(ERR_RUNTIME, "%s: output with shape %s doesn't match the broadcast shape %s; use the operation that makes a new tensor", c.name, have, want)
    for i in range(ndim):
        if out.strides[i] == 0 and out.shape[i] > 1:
            return fail_s(ERR_RUNTIME, "%s: unsupported operation: more than one element of the written-to tensor refers to a single memory location; "
                          "clone() the tensor before writing to it", c.name, "", "")
    for i in range(c.n):
        if not same_elements(c.operands[i], out) and memory_overlaps(c.operands[i], out):
            if dense(c.operands[i]) and dense(out):
                return fail_s(ERR_RUNTIME, "%s: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                              "memory location; clone() the input before writing to the other", c.name, "", "")
            apart[0] = True
    return 0


cdef bint one_geometry(Call* c, int ndim, const Py_ssize_t* shape) noexcept nogil:
    # all operands have the result's shape, and the same strides
    cdef int k, i
    cdef Array* first = c.operands[0]
    for k in range(c.n):
        if c.operands[k].ndim != ndim:
            return False
        for i in range(ndim):
            if c.operands[k].shape[i] != shape[i] or c.operands[k].strides[i] != first.strides[i]:
                return False
    return True


cdef Array* empty_result(Call* c, int ndim, const Py_ssize_t* shape) noexcept nogil:
    # Dims in the order in which the operands lie in memory, as in torch.
    cdef Py_ssize_t strides[5][64]
    cdef const Py_ssize_t* each[5]
    cdef int order[64]
    cdef int k, i, lead
    cdef Array* a
    cdef bint plain = True
    for k in range(c.n):
        plain = plain and c.operands[k].flags & CONTIGUOUS != 0 and (c.operands[k].ndim == ndim or c.operands[k].numel == 1)
    if ndim < 2 or plain:
        return array_empty(c.result, ndim, shape)
    if one_geometry(c, ndim, shape):
        return array_empty_like(c.operands[0], c.result)
    for k in range(c.n):
        a = c.operands[k]
        lead = ndim - a.ndim
        for i in range(lead):
            strides[k][i] = 0
        for i in range(a.ndim):
            strides[k][lead + i] = 0 if a.shape[i] == 1 and shape[lead + i] != 1 else a.strides[i]
        each[k] = strides[k]
    if not dims_sort(ndim, shape, c.n, each, order):
        return array_empty(c.result, ndim, shape)
    return array_empty_ordered(c.result, ndim, shape, order)


cdef inline bint flat(Call* c) noexcept nogil:
    # every operand has the loop's dtype and one shape, and is contiguous; the result needs no cast
    cdef Array* first = c.operands[0]
    cdef int k
    if first.dtype != c.dtypes[0] or not (first.flags & CONTIGUOUS) or c.result != c.dtypes[c.n]:
        return False
    for k in range(1, c.n):
        if c.operands[k].dtype != c.dtypes[k] or not (c.operands[k].flags & CONTIGUOUS) or not same_shape(c.operands[k], first):
            return False
    return True


cdef inline void run_flat(Call* c, Array* result) noexcept nogil:
    cdef char* args[6]
    cdef Py_ssize_t strides[6]
    cdef int k
    for k in range(c.n):
        args[k] = c.operands[k].data
        strides[k] = ITEMSIZE[c.dtypes[k]]
    args[c.n] = result.data
    strides[c.n] = ITEMSIZE[c.dtypes[c.n]]
    inner_run(c.inner, c.n + 1, args, &result.numel, strides, c.data)


cdef Array* call_run(Call* c, Array* out) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Array* result
    cdef bint apart = False
    cdef int ndim
    if out == NULL and likely(flat(c)):
        result = array_empty(c.result, c.operands[0].ndim, c.operands[0].shape)
        if result != NULL:
            run_flat(c, result)
        return result
    if c.n == 2:
        ndim = broadcast_shape(c.operands[0], c.operands[1], shape)
    else:
        ndim = broadcast_all(c.name, c.n, c.operands, shape)
    if ndim < 0:
        return NULL
    if out == NULL:
        result = empty_result(c, ndim, shape)
        if result != NULL:
            run(c, result)
        return result
    if check_out(c, out, ndim, shape, &apart) < 0:
        return NULL
    if not apart:
        run(c, out)
        return array_incref(out)
    result = array_empty(out.dtype, ndim, shape)
    if result == NULL:
        return NULL
    run(c, result)
    copy_into(out, result)
    array_decref(result)
    return array_incref(out)


cdef Array* call_reusing(Call* c) noexcept nogil:
    cdef Array* grad = c.operands[0]
    cdef Py_ssize_t shape[64]
    cdef int i, ndim
    if grad.dtype != c.result or not array_unshared(grad):
        return call_run(c, NULL)
    if flat(c):
        run_flat(c, grad)
        return array_incref(grad)
    ndim = broadcast_all(c.name, c.n, c.operands, shape)
    if ndim < 0:
        return NULL
    if ndim == grad.ndim and dense(grad):
        for i in range(ndim):
            if shape[i] != grad.shape[i]:
                break
        else:
            run(c, grad)
            return array_incref(grad)
    return call_run(c, NULL)


cdef int common_dtype(int n, Array** operands, int flags) noexcept nogil:
    cdef int k, t
    cdef bint same = True
    for k in range(n):
        if operands[k] == NULL:
            return -1
        same = same and operands[k].dtype == operands[0].dtype and not (operands[k].flags & WRAPPED)
    t = operands[0].dtype if same else promote_all(n, operands)
    return float_for(t) if flags & TO_FLOAT else t


cdef Array* apply_call(Call* c, FindLoop find, int flags, Array* out) noexcept nogil:
    cdef int k, t = common_dtype(c.n, c.operands, flags)
    if t < 0:
        return NULL
    c.inner = find(t)
    if c.inner == NULL:
        return fail_dtype(c.name, t)
    for k in range(c.n + 1):
        c.dtypes[k] = t
    c.result = t
    return call_reusing(c) if flags & REUSE else call_run(c, out)


cdef Array* apply1(const char* name, FindLoop find, Array* a, void* data, int flags) noexcept nogil:
    cdef Call c
    c.name = name
    c.n = 1
    c.operands[0] = a
    c.data = data
    return apply_call(&c, find, flags, NULL)


cdef Array* apply2(const char* name, FindLoop find, Array* a, Array* b, void* data, int flags) noexcept nogil:
    return apply2_out(name, find, a, b, data, flags, NULL)


cdef Array* apply3(const char* name, FindLoop find, Array* a, Array* b, Array* third, void* data, int flags) noexcept nogil:
    return apply3_out(name, find, a, b, third, data, flags, NULL)


cdef Array* apply2_out(const char* name, FindLoop find, Array* a, Array* b, void* data, int flags, Array* out) noexcept nogil:
    cdef Call c
    c.name = name
    c.n = 2
    c.operands[0] = a
    c.operands[1] = b
    c.data = data
    return apply_call(&c, find, flags, out)


cdef Array* apply3_out(const char* name, FindLoop find, Array* a, Array* b, Array* third, void* data, int flags, Array* out) noexcept nogil:
    cdef Call c
    c.name = name
    c.n = 3
    c.operands[0] = a
    c.operands[1] = b
    c.operands[2] = third
    c.data = data
    return apply_call(&c, find, flags, out)


cdef Array* apply4(const char* name, FindLoop find, Array* a, Array* b, Array* third, Array* fourth, void* data, int flags) noexcept nogil:
    cdef Call c
    c.name = name
    c.n = 4
    c.operands[0] = a
    c.operands[1] = b
    c.operands[2] = third
    c.operands[3] = fourth
    c.data = data
    return apply_call(&c, find, flags, NULL)


cdef int read_number(const char* name, Array* a, double* parts) noexcept nogil:
    if a.numel != 1:
        return fail_s(ERR_RUNTIME, "%s: a number or a tensor of one element is expected here", name, "", "")
    convert_element(a.dtype, a.data, COMPLEX128, <char*>parts)
    return 0


cdef Array* apply_converting(const char* name, InnerLoop inner, int n, int dtype, int result, Array* a, Array* b) noexcept nogil:
    cdef Call c
    c.name = name
    c.inner = inner
    if inner == NULL:
        return fail_dtype(name, dtype)
    c.data = NULL
    c.n = n
    c.operands[0] = a
    c.operands[1] = b
    c.dtypes[0] = c.dtypes[1] = dtype
    c.dtypes[n] = c.result = result
    return call_run(&c, NULL)
