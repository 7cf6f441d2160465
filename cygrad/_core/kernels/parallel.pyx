# Loops of elements in parts. Contract: parallel.pxd.

from cygrad._core.kernels.iterate cimport MAX_OPERANDS, loop_run

cdef struct InnerJob:
    InnerLoop inner
    void* data
    int nops
    char** args
    const Py_ssize_t* strides

cdef struct LoopJob:
    Loop* it
    InnerLoop inner
    void* data
    int dim                          # the dimension that is cut


cdef void run_alone(Part part, void* job, Py_ssize_t n, Py_ssize_t grain) noexcept nogil:
    part(job, 0, n)

team.threads = 1
team.run = run_alone


cdef inline Py_ssize_t grain_of(Py_ssize_t n, Py_ssize_t least) noexcept nogil:
    # A few parts a thread, so that one that comes late finds its share smaller.
    cdef Py_ssize_t grain = n // (4 * team.threads) + 1
    return grain if grain > least else least


cdef void inner_part(void* job, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef InnerJob* j = <InnerJob*>job
    cdef char* args[MAX_OPERANDS]
    cdef Py_ssize_t n = stop - start
    cdef int k
    for k in range(j.nops):
        args[k] = j.args[k] + start * j.strides[k]
    j.inner(args, &n, j.strides, j.data)


cdef void inner_split(InnerLoop inner, int nops, char** args, Py_ssize_t n, const Py_ssize_t* strides, void* data) noexcept nogil:
    cdef InnerJob j
    if team.threads < 2:
        inner(args, &n, strides, data)
        return
    j.inner = inner
    j.data = data
    j.nops = nops
    j.args = args
    j.strides = strides
    team.run(inner_part, &j, n, grain_of(n, SPLIT_FROM // 4))


cdef void loop_part(void* job, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef LoopJob* j = <LoopJob*>job
    cdef Loop part = j.it[0]
    cdef int k
    part.shape[j.dim] = stop - start
    for k in range(part.nops):
        part.data[k] += start * part.strides[k][j.dim]
    loop_run(&part, j.inner, j.data)


cdef void loop_run_split(Loop* it, InnerLoop inner, void* data) noexcept nogil:
    cdef LoopJob j
    cdef Py_ssize_t numel = 1
    cdef int d
    for d in range(it.ndim):
        numel *= it.shape[d]
    if numel < SPLIT_FROM or team.threads < 2:
        loop_run(it, inner, data)
        return
    j.it = it
    j.inner = inner
    j.data = data
    j.dim = 0
    for d in range(1, it.ndim):
        if it.shape[j.dim] < 4 * team.threads and it.shape[d] > it.shape[j.dim]:
            j.dim = d
    team.run(loop_part, &j, it.shape[j.dim], grain_of(it.shape[j.dim], it.shape[j.dim] * (SPLIT_FROM // 4) // numel + 1))
