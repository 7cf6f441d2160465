# New Arrays put together from pieces of others: cat, stack, repeat, flip, roll, triangles, diagonals, padding; and their backward.
#
# Lists come as `Array** list, int n` (borrowed); an IntList of lengths may be longer than 64 where it was allocated so. Results are contiguous and never share memory with an argument, but for the backward of cat, stack and
# pad, which are views of the gradient where they can be.

from cygrad._core.array cimport Array, IntList

# cat promotes over all and leaves out 1-d tensors of no element whatever the others' dims (torch keeps this rule from its early days).
cdef Array* cat(Array** list, int n, Py_ssize_t dim) noexcept nogil
cdef int cat_backward(Array* grad, const IntList* lengths, Py_ssize_t dim, Array** outs) noexcept nogil   # lengths along dim; -1: was left out, gets zeros of size 0
cdef Array* stack(Array** list, int n, Py_ssize_t dim) noexcept nogil                      # backward: unbind

# Backward of split, split_with_sizes and unbind: grads along dim, NULL entries are zero (not all of them). sizes: of the forward's input.
cdef Array* split_backward(Array** grads, int n, Py_ssize_t split_size, Py_ssize_t dim, const IntList* sizes) noexcept nogil
cdef Array* split_with_sizes_backward(Array** grads, int n, const IntList* lengths, Py_ssize_t dim, const IntList* sizes) noexcept nogil
cdef Array* unbind_backward(Array** grads, int n, Py_ssize_t dim, const IntList* sizes) noexcept nogil

cdef Array* repeat(Array* a, const IntList* repeats) noexcept nogil
cdef Array* repeat_backward(Array* grad, const IntList* repeats, const IntList* sizes) noexcept nogil    # sum over the repetitions
cdef Array* flip(Array* a, const IntList* dims) noexcept nogil                             # backward: flip
cdef Array* roll(Array* a, const IntList* shifts, const IntList* dims) noexcept nogil      # dims empty: over the flattened tensor
cdef Array* roll_backward(Array* grad, const IntList* shifts, const IntList* dims) noexcept nogil        # roll by -shifts
cdef Array* tril(Array* a, Py_ssize_t diagonal) noexcept nogil                             # backward: tril
cdef Array* triu(Array* a, Py_ssize_t diagonal) noexcept nogil
cdef Array* diag(Array* a, Py_ssize_t diagonal) noexcept nogil                             # 1-d: a matrix with it; 2-d: a copy of its diagonal
cdef Array* diag_backward(Array* grad, const IntList* sizes, Py_ssize_t diagonal) noexcept nogil         # sizes: of diag's argument
cdef Array* diag_embed(Array* a, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil     # backward: diagonal
cdef Array* constant_pad(Array* a, const IntList* pad, Array* value) noexcept nogil       # pad: two numbers a dim from the last one on, negative crops; value NULL: 0
cdef Array* constant_pad_backward(Array* grad, const IntList* pad) noexcept nogil
cdef Array* eye(Py_ssize_t rows, Py_ssize_t columns, int dtype) noexcept nogil
