# Size: the shape of a tensor as Python sees it, a tuple of ints that stays a Size under slicing and +.

cdef object size_new(int ndim, const Py_ssize_t* v)      # from a C shape
cdef object size_from_tuple(tuple t)                      # the entries are known to be ints
