# The BLAS that NumPy brings along (OpenBLAS in its wheels): its symbols, and how it is kept from starting threads of its own.
#
# Note [BLAS threads]
# OpenBLAS's threads go on spinning for milliseconds after a product and take the processor from ours. So cygrad splits large products itself
# (Note [Split loops]) and asks for one thread meanwhile. The number is one for the whole process: the last section that ends gives back what was set
# before, and NumPy's own products keep their setting.
#
# Note [BLAS at exit]
# A daemon thread, or one of our workers for it, computes on without the GIL while the process exits, and OpenBLAS gives its memory back in a destructor
# of its library. So every call of BLAS stands between `blas_enter` and `blas_leave`; an exit handler, which runs before destructors do, waits for those
# inside, and from then on `blas_enter` does not return. No section takes the GIL, so none can wait for the thread that exits.

cdef void blas_enter() noexcept nogil
cdef void blas_leave() noexcept nogil

# Sections in which a BLAS call uses the calling thread alone; any number of threads may be inside. Of a BLAS without such a switch: nothing.
cdef void blas_alone_enter() noexcept nogil
cdef void blas_alone_leave() noexcept nogil
cdef void blas_after_fork() noexcept nogil              # in the child: threads that were inside are gone

# Address of a function of a BLAS with 64-bit integers, such as "cblas_sgemm"; NULL: NumPy brings none that we know.
cdef void* blas_symbol(const char* name) noexcept nogil
