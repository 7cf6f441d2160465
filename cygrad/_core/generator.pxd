# Generator: the state of a stream of random numbers.

cdef class Generator:
    cdef object bits             # numpy.random.PCG64
    cdef object numpy            # numpy.random.Generator over it; None: not drawn from since it was seeded
    cdef int generation          # of the process that made both
    cdef object first_seed       # int in [0, 2**64)
    cdef object stream(self)     # makes both

cdef Generator default_generator
cdef object numpy_generator(object generator, const char* operation)      # the numpy.random.Generator of a Generator; None: the default one's
