# device: where a tensor's memory lies. Storage.device holds the same fact as a C code (DeviceType | index << 8).

cdef class device:
    cdef readonly str type          # "cpu" or "cuda"
    cdef readonly object index      # int or None (the current device of that type)
    cdef int code                   # as in Storage.device; no index counts as 0

cdef device device_object(int code)             # the device of a Storage: device(type='cpu'), device(type='cuda', index=1)
cdef device device_parse(object obj)            # from a device, a string, an int (an index of cuda) or None (the CPU)
cdef int device_usable(object obj) except -1    # the code, for making tensors there; RuntimeError where cygrad cannot (yet)
