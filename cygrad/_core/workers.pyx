# Worker threads of the engine. Contract: workers.pxd.
#
# Note [Worker threads]
# A worker never holds the GIL and never touches a Python object, so it needs no care at interpreter exit. It sleeps on `wake` until a task in the list of
# open tasks has a ready Node; it enters by raising `helpers` under `pool`, drains, and leaves. The owner of a task closes it (takes it off the list) and waits
# until nobody is inside. `pool` is taken before a task's own lock, never after it.

import os

from libc.string cimport memset
from cygrad._core.array cimport Array
from cygrad._core.atomics cimport atomic_load, atomic_store, atomic_add, spin_trylock, spin_unlock
from cygrad._core.blas_threads cimport blas_get_threads, blas_set_threads
from cygrad._core.engine cimport task_drain
from cygrad._core.node cimport Scratch
from cygrad._core.errors cimport fail, ERR_RUNTIME
from cygrad._core.graph_task cimport task_scratch, task_fail

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_t:
        pass
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef struct pthread_attr_t:
        pass
    int pthread_create(pthread_t*, pthread_attr_t*, void* (*)(void*) noexcept nogil, void*)
    int pthread_detach(pthread_t)
    int pthread_mutex_init(pthread_mutex_t*, void*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_cond_init(pthread_cond_t*, void*)
    int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*)
    int pthread_cond_signal(pthread_cond_t*)
    int pthread_cond_broadcast(pthread_cond_t*)
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil, void (*)() noexcept nogil)

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from "<math.h>" nogil:
    double sqrt(double)

cdef enum:
    WORTH_WAKING = 10000         # nanoseconds: a Node that runs shorter than this loses by being handed to another thread

cdef pthread_mutex_t pool
cdef pthread_cond_t wake         # workers: there may be work
cdef pthread_cond_t back         # owners: something was done, or a worker left
cdef GraphTask* open_tasks = NULL
cdef int started = 0             # worker threads alive
cdef long idle = 0               # of those, asleep
cdef long threads                # what set_num_threads allows, the calling thread included
cdef int blas_before = 0         # BLAS threads while no task was shared

pthread_mutex_init(&pool, NULL)
pthread_cond_init(&wake, NULL)
pthread_cond_init(&back, NULL)
threads = len(os.sched_getaffinity(0))


cdef double cost(GraphTask* t, NodeState* s) noexcept nogil:
    # Nanoseconds, estimated from the elements that the Node reads, or m * n * k for a matrix product (about 10 multiply-adds a nanosecond).
    cdef Scratch* sc = task_scratch(t, s)
    cdef double elements = 0, volume = 1
    cdef int i
    if sc == NULL or sc.grads == NULL:
        return 0
    for i in range(s.n_outputs):
        if sc.grads[i] != NULL:
            elements += (<Array*>sc.grads[i]).numel
    if s.type.cubic:
        for i in range(s.n_saved):
            if s.saved[i].array != NULL:
                volume *= s.saved[i].array.numel
        return sqrt(elements * volume) / 10
    for i in range(s.n_saved):
        if s.saved[i].array != NULL:
            elements += s.saved[i].array.numel
    return elements / 2


cdef void* worker(void* unused) noexcept nogil:
    cdef GraphTask* t
    pthread_mutex_lock(&pool)
    while True:
        t = open_tasks
        while t != NULL and not (atomic_load(&t.queued) > 0 and not t.failed):
            t = t.next_open
        if started >= threads:
            break
        if t == NULL:
            idle_add(1)
            pthread_cond_wait(&wake, &pool)
            idle_add(-1)
            continue
        t.helpers += 1
        pthread_mutex_unlock(&pool)
        task_drain(t, False)
        pthread_mutex_lock(&pool)
        t.helpers -= 1
        pthread_cond_broadcast(&back)
    started_add(-1)
    pthread_mutex_unlock(&pool)
    return NULL


cdef inline void idle_add(long n) noexcept nogil:
    atomic_add(&idle, n)


cdef inline void started_add(int n) noexcept nogil:
    global started
    started += n


cdef int start_workers() noexcept nogil:
    # With `pool` held. A thread that cannot be started is no error: the caller does the work.
    cdef pthread_t thread
    while started < threads - 1:
        if pthread_create(&thread, NULL, worker, NULL) != 0:
            break
        pthread_detach(thread)
        started_add(1)
    return started


cdef void workers_invite(GraphTask* t, NodeState* next_node) noexcept nogil:
    global open_tasks, blas_before
    if threads < 2 or t.recorded or cost(t, next_node) < WORTH_WAKING or cost(t, t.ready.v[0]) < WORTH_WAKING:
        return
    pthread_mutex_lock(&pool)
    if start_workers() > 0:
        if open_tasks == NULL:
            blas_before = blas_get_threads()
            if blas_before > 1:
                blas_set_threads(1)
        t.shared = True
        t.next_open = open_tasks
        open_tasks = t
        atomic_store(&t.queued, t.ready.n)
        pthread_cond_broadcast(&wake)
    pthread_mutex_unlock(&pool)


cdef void workers_notify(GraphTask* t, bint caller) noexcept nogil:
    # After a Node of a shared task: sleeping workers may be of use, a waiting owner may go on.
    if atomic_load(&t.queued) > 0 and atomic_load(&idle) > 0:
        pthread_mutex_lock(&pool)
        pthread_cond_signal(&wake)
        pthread_mutex_unlock(&pool)
    if not caller and atomic_load(&t.waiting):
        pthread_mutex_lock(&pool)
        pthread_cond_broadcast(&back)
        pthread_mutex_unlock(&pool)


cdef void workers_leave(GraphTask* t) noexcept nogil:
    global open_tasks
    cdef GraphTask** link
    pthread_mutex_lock(&pool)
    link = &open_tasks
    while link[0] != NULL and link[0] != t:
        link = &link[0].next_open
    if link[0] != NULL:
        link[0] = t.next_open
    while t.helpers > 0:
        pthread_cond_wait(&back, &pool)
    if open_tasks == NULL and blas_before > 1:
        blas_set_threads(blas_before)
    pthread_mutex_unlock(&pool)
    t.shared = False


cdef bint nothing_to_do(GraphTask* t) noexcept nogil:
    cdef bint nothing
    while not spin_trylock(&t.lock):
        sched_yield()
    nothing = t.outstanding > 0 and not t.failed and t.single == NULL and t.ready.n == 0 and t.ready_gil.n == 0
    spin_unlock(&t.lock)
    return nothing


cdef void wait_for_work(GraphTask* t) noexcept nogil:
    cdef int i
    for i in range(200):
        if not nothing_to_do(t):
            return
        sched_yield()
    pthread_mutex_lock(&pool)
    atomic_store(&t.waiting, 1)
    while nothing_to_do(t):
        pthread_cond_wait(&back, &pool)
    atomic_store(&t.waiting, 0)
    pthread_mutex_unlock(&pool)


cdef void fork_prepare() noexcept nogil:
    pthread_mutex_lock(&pool)


cdef void fork_parent() noexcept nogil:
    pthread_mutex_unlock(&pool)


cdef void fork_child() noexcept nogil:
    # Only the forking thread lives on, perhaps inside of backwards (a hook forked): they go on without workers, and fail where a worker had taken a Node along.
    global open_tasks, started
    cdef GraphTask* t = open_tasks
    while t != NULL:
        t.lock = 0
        t.shared = False
        if t.helpers > 0 and not t.failed:
            t.helpers = 0
            fail(ERR_RUNTIME, "cygrad: the process was forked inside a backward of which other threads were running a part; the child has no such threads. "
                 "Fork outside of backward, or after set_num_threads(1).")
            task_fail(t)
        t = t.next_open
    pthread_mutex_init(&pool, NULL)
    pthread_cond_init(&wake, NULL)
    pthread_cond_init(&back, NULL)
    open_tasks = NULL
    started = 0
    atomic_store(&idle, 0)

pthread_atfork(fork_prepare, fork_parent, fork_child)


def set_num_threads(n: int, /) -> None:
    """Let at most ``n`` threads run nodes of one backward at a time, the calling thread included; BLAS gets the same number while no nodes run in parallel.

    Raises RuntimeError unless ``n`` is positive, TypeError unless it is an int.
    """
    global threads
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"cygrad.set_num_threads expects an int, but got {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"cygrad.set_num_threads expects a positive integer, but got {n}")
    pthread_mutex_lock(&pool)
    threads = n
    pthread_cond_broadcast(&wake)
    pthread_mutex_unlock(&pool)
    blas_set_threads(n)


def get_num_threads() -> int:
    """How many threads may run nodes of one backward at a time."""
    return threads
