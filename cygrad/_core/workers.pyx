# Worker threads of the engine. Contract: workers.pxd.
#
# Note [Worker threads]
# A worker never holds the GIL and never touches a Python object, so it needs no care while the interpreter ends (after it: Note [BLAS at exit]). It sleeps on
# `wake` until a loop is open (Note [Split loops]) or a task in the list of open tasks has a ready Node; it enters by raising `helpers` under `pool`, takes
# parts or drains, and leaves. The owner of a loop or task closes it (takes it off the list) and waits until nobody is inside. `pool` is taken before a task's
# own lock, never after it.
# A loop comes seldom alone: after one, a worker looks for the next for a while before it sleeps, since to wake it costs more than a short loop gains.

import os

from libc.string cimport memset
from cygrad._core.array cimport Array
from cygrad._core.atomics cimport atomic_load, atomic_store, atomic_add, spin_trylock, spin_unlock
from cygrad._core.blas_threads cimport blas_after_fork
from cygrad._core.engine cimport task_drain
from cygrad._core.grad_mode cimport set_thread_modes
from cygrad._core.node cimport Scratch
from cygrad._core.errors cimport fail, ERR_RUNTIME
from cygrad._core.graph_task cimport task_scratch, task_fail
from cygrad._core.kernels.parallel cimport Part, team

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
    LOOKS = 200                  # times that a worker looks for the next loop before it sleeps: some hundred microseconds
    WORTH_WAKING = 10000         # nanoseconds: a Node that runs shorter than this loses by being handed to another thread

cdef pthread_mutex_t pool
cdef pthread_cond_t wake         # workers: there may be work
cdef pthread_cond_t back         # owners: something was done, or a worker left
cdef struct OpenLoop:            # on the stack of the thread that runs the loop
    Part part
    void* job
    Py_ssize_t n
    Py_ssize_t grain
    long taken                   # elements given out
    long helpers                 # workers inside: changes under `pool`
    OpenLoop* next_open

cdef GraphTask* open_tasks = NULL
cdef OpenLoop* open_loops = NULL
cdef long posted = 0             # changes whenever there may be something new to do
cdef int started = 0             # worker threads alive
cdef int busy = 0                # of those, inside a task or loop; guarded by `pool`
cdef long idle = 0               # of those, asleep

pthread_mutex_init(&pool, NULL)
pthread_cond_init(&wake, NULL)
pthread_cond_init(&back, NULL)
team.threads = len(os.sched_getaffinity(0))


cdef double node_cost(GraphTask* t, NodeState* s) noexcept nogil:
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
    cdef OpenLoop* l
    cdef bint look = False
    pthread_mutex_lock(&pool)
    while started < team.threads:
        l = open_loops
        while l != NULL and atomic_load(&l.taken) >= l.n:
            l = l.next_open
        t = NULL
        if l == NULL:
            t = open_tasks
            while t != NULL and not (atomic_load(&t.queued) > 0 and not t.failed):
                t = t.next_open
        if l != NULL:
            atomic_add(&l.helpers, 1)
            busy_add(1)
            pthread_mutex_unlock(&pool)
            take_parts(l)
            pthread_mutex_lock(&pool)
            busy_add(-1)
            atomic_add(&l.helpers, -1)
            look = True
        elif t != NULL:
            t.helpers += 1
            busy_add(1)
            pthread_mutex_unlock(&pool)
            set_thread_modes(t.modes)
            task_drain(t, False)
            pthread_mutex_lock(&pool)
            busy_add(-1)
            t.helpers -= 1
        elif look:
            look = look_around()
            continue
        else:
            idle_add(1)
            pthread_cond_wait(&wake, &pool)
            idle_add(-1)
            continue
        pthread_cond_broadcast(&back)
    started_add(-1)
    pthread_mutex_unlock(&pool)
    return NULL


cdef bint look_around() noexcept nogil:
    # With `pool`, which it gives up meanwhile. True: something was posted.
    cdef long seen = atomic_load(&posted)
    cdef bint found = False
    cdef int i
    pthread_mutex_unlock(&pool)
    for i in range(LOOKS):
        if atomic_load(&posted) != seen:
            found = True
            break
        sched_yield()
    pthread_mutex_lock(&pool)
    return found


cdef inline void take_parts(OpenLoop* l) noexcept nogil:
    cdef Py_ssize_t stop
    while True:
        stop = atomic_add(&l.taken, l.grain)
        if stop - l.grain >= l.n:
            return
        l.part(l.job, stop - l.grain, l.n if stop > l.n else stop)


cdef void run_split(Part part, void* job, Py_ssize_t n, Py_ssize_t grain) noexcept nogil:
    # What `team.run` is: Note [Split loops].
    global open_loops
    cdef OpenLoop l
    cdef OpenLoop** link
    cdef int i
    if grain >= n:
        part(job, 0, n)
        return
    pthread_mutex_lock(&pool)
    if start_workers() <= busy:          # they have enough to do
        pthread_mutex_unlock(&pool)
        part(job, 0, n)
        return
    l.part = part
    l.job = job
    l.n = n
    l.grain = grain
    l.taken = 0
    l.helpers = 0
    l.next_open = open_loops
    open_loops = &l
    atomic_add(&posted, 1)
    if atomic_load(&idle) > 0:
        pthread_cond_broadcast(&wake)
    pthread_mutex_unlock(&pool)
    take_parts(&l)
    for i in range(LOOKS):
        if atomic_load(&l.helpers) == 0:
            break
        sched_yield()
    pthread_mutex_lock(&pool)
    link = &open_loops
    while link[0] != &l:
        link = &link[0].next_open
    link[0] = l.next_open
    while l.helpers > 0:
        pthread_cond_wait(&back, &pool)
    pthread_mutex_unlock(&pool)

team.run = run_split


cdef inline void busy_add(int n) noexcept nogil:
    global busy
    busy += n


cdef inline void idle_add(long n) noexcept nogil:
    atomic_add(&idle, n)


cdef inline void started_add(int n) noexcept nogil:
    global started
    started += n


cdef int start_workers() noexcept nogil:
    # With `pool` held. A thread that cannot be started is no error: the caller does the work.
    cdef pthread_t thread
    while started < team.threads - 1:
        if pthread_create(&thread, NULL, worker, NULL) != 0:
            break
        pthread_detach(thread)
        started_add(1)
    return started


cdef void workers_invite(GraphTask* t, NodeState* next_node) noexcept nogil:
    global open_tasks
    if team.threads < 2 or t.recorded or node_cost(t, next_node) < WORTH_WAKING or node_cost(t, t.ready.v[0]) < WORTH_WAKING:
        return
    pthread_mutex_lock(&pool)
    if start_workers() > 0:
        t.shared = True
        t.next_open = open_tasks
        open_tasks = t
        atomic_store(&t.queued, t.ready.n)
        atomic_add(&posted, 1)
        pthread_cond_broadcast(&wake)
    pthread_mutex_unlock(&pool)


cdef void workers_notify(GraphTask* t, bint caller) noexcept nogil:
    # After a Node of a shared task: sleeping workers may be of use, a waiting owner may go on.
    if atomic_load(&t.queued) > 0:
        atomic_add(&posted, 1)
        if atomic_load(&idle) > 0:
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
    global open_tasks, open_loops, started, busy
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
    open_loops = NULL
    started = 0
    busy = 0
    atomic_store(&idle, 0)
    blas_after_fork()

pthread_atfork(fork_prepare, fork_parent, fork_child)


def set_num_threads(n: int, /) -> None:
    """Let at most ``n`` threads share the nodes of a backward and the loops of large operations, the calling thread included.

    NumPy's own functions keep the number of threads that their BLAS was given. Raises RuntimeError unless ``n`` is positive, TypeError unless it is an int.
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"cygrad.set_num_threads expects an int, but got {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"cygrad.set_num_threads expects a positive integer, but got {n}")
    pthread_mutex_lock(&pool)
    team.threads = n
    pthread_cond_broadcast(&wake)
    pthread_mutex_unlock(&pool)


def get_num_threads() -> int:
    """How many threads may share the nodes of a backward and the loops of large operations."""
    return team.threads
