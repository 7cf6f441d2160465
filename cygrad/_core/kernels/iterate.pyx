# Loops over strided Arrays of one broadcast shape: what every kernel does when its operands are not simply contiguous.
#
# Why: NumPy's inner loops run over one dimension. The fewer of them a geometry needs, the less their calls cost: dimensions that lie regularly in
# memory for all operands merge into one, and the innermost one is the one with the smallest steps.

from cygrad._core.array cimport Array


cdef void loop_init(Loop* it, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef int i
    it.ndim = ndim
    it.nops = 0
    for i in range(ndim):
        it.shape[i] = shape[i]


cdef void loop_add(Loop* it, Array* a) noexcept nogil:
    cdef int lead = it.ndim - a.ndim
    cdef int i
    cdef Py_ssize_t* strides = it.strides[it.nops]
    for i in range(lead):
        strides[i] = 0
    for i in range(a.ndim):
        strides[lead + i] = 0 if a.shape[i] == 1 else a.strides[i]
    it.data[it.nops] = a.data
    it.nops += 1


cdef void loop_add_strided(Loop* it, char* data, const Py_ssize_t* strides) noexcept nogil:
    cdef int i
    for i in range(it.ndim):
        it.strides[it.nops][i] = strides[i]
    it.data[it.nops] = data
    it.nops += 1


cdef inline Py_ssize_t magnitude(Py_ssize_t v) noexcept nogil:
    return -v if v < 0 else v


# Whether dim `inner` has smaller steps than dim `outer`. The first operand that tells decides: a step of 0 does not.
cdef inline bint steps_less(Loop* it, int inner, int outer) noexcept nogil:
    cdef int k
    cdef Py_ssize_t si, so
    for k in range(it.nops):
        si = magnitude(it.strides[k][inner])
        so = magnitude(it.strides[k][outer])
        if si != 0 and so != 0 and si != so:
            return si < so
    return False


cdef inline void swap_dims(Loop* it, int d, int e) noexcept nogil:
    cdef int k
    it.shape[d], it.shape[e] = it.shape[e], it.shape[d]
    for k in range(it.nops):
        it.strides[k][d], it.strides[k][e] = it.strides[k][e], it.strides[k][d]


cdef inline void move_dim(Loop* it, int source, int target) noexcept nogil:
    cdef int k
    it.shape[target] = it.shape[source]
    for k in range(it.nops):
        it.strides[k][target] = it.strides[k][source]


cdef inline bint mergeable(Loop* it, int outer, int inner) noexcept nogil:
    cdef int k
    for k in range(it.nops):
        if it.strides[k][outer] != it.strides[k][inner] * it.shape[inner]:
            return False
    return True


cdef void loop_ready(Loop* it) noexcept nogil:
    cdef int d, e, kept = 0, longest
    cdef int k
    for d in range(it.ndim):
        if it.shape[d] == 0:
            it.ndim = 1
            it.shape[0] = 0
            return
        if it.shape[d] != 1:
            if kept != d:
                move_dim(it, d, kept)
            kept += 1
    it.ndim = kept
    if kept == 0:
        it.ndim = 1
        it.shape[0] = 1
        for k in range(it.nops):
            it.strides[k][0] = 0
        return
    if kept == 1:
        return
    for d in range(1, kept):             # insertion sort: shapes are nearly always sorted already
        e = d
        while e > 0 and steps_less(it, e - 1, e):
            swap_dims(it, e - 1, e)
            e -= 1
    e = 0
    for d in range(1, kept):
        if mergeable(it, e, d):
            it.shape[d] *= it.shape[e]
            move_dim(it, d, e)
        else:
            e += 1
            if e != d:
                move_dim(it, d, e)
    it.ndim = e + 1
    # A call of an inner loop costs as much as some ten elements: a very short innermost dimension changes places with the longest one.
    d = it.ndim - 1
    if d > 0 and it.shape[d] < 8:
        longest = d
        for e in range(d):
            if it.shape[e] >= it.shape[longest]:
                longest = e
        if it.shape[longest] >= 4 * it.shape[d]:
            swap_dims(it, longest, d)


cdef void loop_run(Loop* it, InnerLoop inner, void* data) noexcept nogil:
    cdef char* base[MAX_OPERANDS]
    cdef char* args[MAX_OPERANDS]
    cdef Py_ssize_t steps[MAX_OPERANDS]
    cdef Py_ssize_t index[64]
    cdef int last = it.ndim - 1
    cdef int k, d
    cdef Py_ssize_t count = it.shape[last]
    if count == 0:
        return
    for k in range(it.nops):
        base[k] = it.data[k]
        args[k] = it.data[k]
        steps[k] = it.strides[k][last]
    if last == 0:
        inner(args, &count, steps, data)
        return
    for d in range(last):
        index[d] = 0
    while True:
        inner(args, &count, steps, data)
        d = last - 1
        while True:
            index[d] += 1
            if index[d] < it.shape[d]:
                for k in range(it.nops):
                    base[k] += it.strides[k][d]
                break
            if d == 0:
                return
            index[d] = 0
            for k in range(it.nops):
                base[k] -= it.strides[k][d] * (it.shape[d] - 1)
            d -= 1
        for k in range(it.nops):
            args[k] = base[k]           # inner loops may move their arguments
