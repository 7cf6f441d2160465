# Moves and additions of strided boxes. Contract: strided.pxd.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from cygrad._core.array cimport Array, array_view, array_decref
from cygrad._core.dtypes cimport UINT8, INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128
from cygrad._core.kernels.copy cimport copy_into
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.ufuncs cimport UF_ADD, LoopEntry, ufunc_loop


cdef inline void copy_typed(Bits* unused, Py_ssize_t count, char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t from_stride) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        (<Bits*>to)[0] = (<const Bits*>source)[0]
        to += to_stride
        source += from_stride


cdef void copy_run(int itemsize, Py_ssize_t count, char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t from_stride) noexcept nogil:
    if itemsize == 4:
        copy_typed[uint32_t](NULL, count, to, to_stride, source, from_stride)
    elif itemsize == 8:
        copy_typed[uint64_t](NULL, count, to, to_stride, source, from_stride)
    elif itemsize == 1:
        copy_typed[uint8_t](NULL, count, to, to_stride, source, from_stride)
    elif itemsize == 2:
        copy_typed[uint16_t](NULL, count, to, to_stride, source, from_stride)
    else:
        copy_typed[Pair](NULL, count, to, to_stride, source, from_stride)


cdef inline void add_typed(Addend* unused, int width, Py_ssize_t count, char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t from_stride) noexcept nogil:
    # width 2: real and imaginary part of a complex number
    cdef Py_ssize_t i
    cdef Addend total
    if to_stride == 0:
        total = 0
        for i in range(count):
            total = total + (<const Addend*>(source + i * from_stride))[0]
        (<Addend*>to)[0] = (<Addend*>to)[0] + total
        if width == 2:
            total = 0
            for i in range(count):
                total = total + (<const Addend*>(source + i * from_stride))[1]
            (<Addend*>to)[1] = (<Addend*>to)[1] + total
        return
    for i in range(count):
        (<Addend*>to)[0] = (<Addend*>to)[0] + (<const Addend*>source)[0]
        if width == 2:
            (<Addend*>to)[1] = (<Addend*>to)[1] + (<const Addend*>source)[1]
        to += to_stride
        source += from_stride


cdef void add_run(int dtype, Py_ssize_t count, char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t from_stride) noexcept nogil:
    cdef LoopEntry* entry
    cdef char* args[3]
    cdef Py_ssize_t strides[3]
    if dtype == FLOAT32:
        add_typed[float](NULL, 1, count, to, to_stride, source, from_stride)
    elif dtype == FLOAT64:
        add_typed[double](NULL, 1, count, to, to_stride, source, from_stride)
    elif dtype == INT64:
        add_typed[uint64_t](NULL, 1, count, to, to_stride, source, from_stride)
    elif dtype == COMPLEX64:
        add_typed[float](NULL, 2, count, to, to_stride, source, from_stride)
    elif dtype == COMPLEX128:
        add_typed[double](NULL, 2, count, to, to_stride, source, from_stride)
    elif dtype == INT32:
        add_typed[uint32_t](NULL, 1, count, to, to_stride, source, from_stride)
    elif dtype == INT16:
        add_typed[uint16_t](NULL, 1, count, to, to_stride, source, from_stride)
    elif dtype == UINT8 or dtype == INT8:
        add_typed[uint8_t](NULL, 1, count, to, to_stride, source, from_stride)
    else:
        # bool and float16: NumPy's loop. Within one run elements of the target coincide only at stride 0, where that loop accumulates too.
        entry = ufunc_loop(UF_ADD, dtype)
        args[0] = to
        args[1] = <char*>source
        args[2] = to
        strides[0] = to_stride
        strides[1] = from_stride
        strides[2] = to_stride
        entry.inner(args, &count, strides, entry.data)


cdef void block_init(Block* b, int itemsize, int ndim, const Py_ssize_t* shape, const Py_ssize_t* to_strides, const Py_ssize_t* from_strides) noexcept nogil:
    cdef int i, n = 0
    cdef size_t nbytes = itemsize
    b.itemsize = itemsize
    for i in range(ndim):
        nbytes *= shape[i]
        if shape[i] == 1:
            continue
        if n > 0 and b.to_strides[n - 1] == shape[i] * to_strides[i] and b.from_strides[n - 1] == shape[i] * from_strides[i]:
            b.shape[n - 1] *= shape[i]
            b.to_strides[n - 1] = to_strides[i]
            b.from_strides[n - 1] = from_strides[i]
        else:
            b.shape[n] = shape[i]
            b.to_strides[n] = to_strides[i]
            b.from_strides[n] = from_strides[i]
            n += 1
    b.ndim = n
    b.nbytes = nbytes
    b.flat = n == 0 or nbytes == 0 or (n == 1 and b.to_strides[0] == itemsize and b.from_strides[0] == itemsize)


cdef void block_copy(Block* b, char* to, const char* source) noexcept nogil:
    cdef Py_ssize_t at[64]
    cdef int d, last = b.ndim - 1
    cdef Py_ssize_t count, to_stride, from_stride
    cdef bint rows
    if b.flat:
        memcpy(to, source, b.nbytes)
        return
    count = b.shape[last]
    to_stride = b.to_strides[last]
    from_stride = b.from_strides[last]
    rows = to_stride == b.itemsize and from_stride == b.itemsize
    for d in range(last):
        at[d] = 0
    while True:
        if rows:
            memcpy(to, source, count * b.itemsize)
        else:
            copy_run(b.itemsize, count, to, to_stride, source, from_stride)
        d = last - 1
        while d >= 0:
            at[d] += 1
            to += b.to_strides[d]
            source += b.from_strides[d]
            if at[d] < b.shape[d]:
                break
            to -= at[d] * b.to_strides[d]
            source -= at[d] * b.from_strides[d]
            at[d] = 0
            d -= 1
        if d < 0:
            return


cdef void block_add(Block* b, int dtype, char* to, const char* source) noexcept nogil:
    cdef Py_ssize_t at[64]
    cdef int d, last = b.ndim - 1
    if b.nbytes == 0:
        return
    if last <= 0:
        if last < 0:
            add_run(dtype, 1, to, b.itemsize, source, b.itemsize)
        else:
            add_run(dtype, b.shape[0], to, b.to_strides[0], source, b.from_strides[0])
        return
    for d in range(last):
        at[d] = 0
    while True:
        add_run(dtype, b.shape[last], to, b.to_strides[last], source, b.from_strides[last])
        d = last - 1
        while d >= 0:
            at[d] += 1
            to += b.to_strides[d]
            source += b.from_strides[d]
            if at[d] < b.shape[d]:
                break
            to -= at[d] * b.to_strides[d]
            source -= at[d] * b.from_strides[d]
            at[d] = 0
            d -= 1
        if d < 0:
            return


cdef int view_copy(Array* base, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, Array* source) noexcept nogil:
    cdef Array* view = array_view(base, base.dtype, data, ndim, shape, strides)
    cdef int status
    if view == NULL:
        return -1
    status = copy_into(view, source)
    array_decref(view)
    return status
