# Random fills for other modules (dropout).

from cygrad._core.array cimport Array

cdef Array* bernoulli_array(int dtype, int ndim, const Py_ssize_t* shape, double p, double scale) except NULL   # `scale` with probability p, else 0
