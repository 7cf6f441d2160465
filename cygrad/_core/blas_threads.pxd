# The BLAS that NumPy brings along (OpenBLAS in its wheels): its symbols, and how many threads it uses.

# Threads of one BLAS call. Of a BLAS that has no such switch: 1 is returned, setting does nothing. The setting holds for the process.
cdef int blas_get_threads() noexcept nogil
cdef void blas_set_threads(int n) noexcept nogil

# Address of a function of a BLAS with 64-bit integers, such as "cblas_sgemm"; NULL: NumPy brings none that we know.
cdef void* blas_symbol(const char* name) noexcept nogil
