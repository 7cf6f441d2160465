# Index objects of Python (x[1, ..., None, mask]) as steps: what Tensor.__getitem__ and __setitem__ have to do, in order, on a tensor.
#
# Each step is one view operation of the table (torch records them one by one, so that grad_fn names are the same); the tensors among the indices, if any,
# then index the last view (kernels/indexing.pxd). With no step and no tensor the result is an alias of the tensor. A full slice inside a tuple is no step;
# alone (x[:]) it is one. Errors are raised while parsing, before anything is made.

from cygrad._core.array cimport Array
from cygrad._core.tensor cimport Tensor

cdef enum:
    MAX_STEPS = 128

cdef enum StepKind:
    STEP_SELECT = 0          # select(dim, start)
    STEP_SLICE = 1           # slice(dim, start, stop, step); open ends are 0 and the largest Py_ssize_t
    STEP_UNSQUEEZE = 2       # unsqueeze(dim)

cdef struct IndexStep:
    int kind                 # StepKind
    int dim                  # of the view that the earlier steps give; not negative
    Py_ssize_t start         # as it was written: may be negative
    Py_ssize_t stop
    Py_ssize_t step

cdef struct IndexSteps:
    int n
    IndexStep v[128]

# The tensors among the indices: a list of Tensor | None (None: a dimension taken whole), as kernels/indexing.pxd takes them; None where there are none.
# IndexError and TypeError as torch's. Numbers cost tens of nanoseconds.
cdef object parse_index(Tensor t, object index, IndexSteps* steps)
cdef int index_arrays(list tensors, Array** into) noexcept               # borrowed Arrays, NULL for None; how many. `into` has room for 64

cdef Array* index_view(Array* a, const IndexSteps* steps) noexcept nogil  # all steps as one view (where nothing is recorded); a itself, count raised, where there is none
