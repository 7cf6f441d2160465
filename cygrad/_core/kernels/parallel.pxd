# A kernel's long loop, split over the worker threads that also run Nodes.
#
# Note [Split loops]
# Only loops whose elements do not depend on each other are split, into parts that write apart from each other: results are the same, bit by bit, for any
# number of threads. A part runs without the GIL on any thread and cannot fail. The workers themselves are some floors above (workers.pyx, which fills
# `team`); where they are busy the caller does all parts.

from cygrad._core.atomics cimport likely
from cygrad._core.kernels.iterate cimport InnerLoop, Loop

ctypedef void (*Part)(void* job, Py_ssize_t start, Py_ssize_t stop) noexcept nogil      # elements or lines start <= i < stop

cdef struct Team:
    long threads                     # as many as set_num_threads allows
    void (*run)(Part part, void* job, Py_ssize_t n, Py_ssize_t grain) noexcept nogil    # 0 <= i < n in parts of `grain`; returns when all are done

cdef Team team

cdef enum:
    SPLIT_FROM = 65536               # elements: a shorter loop is done before another thread has woken

cdef void inner_split(InnerLoop inner, int nops, char** args, Py_ssize_t n, const Py_ssize_t* strides, void* data) noexcept nogil
cdef void loop_run_split(Loop* it, InnerLoop inner, void* data) noexcept nogil          # loop_run, split if it is long

cdef inline void inner_run(InnerLoop inner, int nops, char** args, const Py_ssize_t* n, const Py_ssize_t* strides, void* data) noexcept nogil:
    # One call of an inner loop with `nops` operands, split if it is long.
    if likely(n[0] < SPLIT_FROM):
        inner(args, n, strides, data)
    else:
        inner_split(inner, nops, args, n[0], strides, data)
