# DLPack: memory exchanged with other array libraries without copies (https://dmlc.github.io/dlpack, ABI 1.0 and the unversioned one before it).

from cygrad._core.array cimport Array

cdef Array* array_from_dlpack(object source) except NULL          # a capsule, or an object with __dlpack__; shares memory
cdef object capsule_from_array(Array* a, bint versioned, bint copied)
