# Backwards inside of backwards. Note [Re-entrant backward] is at the head of deep.pyx.

cdef bint deep() noexcept nogil                               # this thread is as deep as it should go
cdef void deeper() noexcept nogil                             # a backward begins here
cdef void shallower() noexcept nogil
cdef object on_fresh_thread(object function, tuple args)      # function(*args), on a thread with an empty stack; what it raises is raised here
