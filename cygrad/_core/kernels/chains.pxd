# Elementwise expressions with a transcendental function in them, block by block through NumPy's vectorised loops: "Note [Chains]" in loops.hpp.

from cygrad._core.array cimport Array
from cygrad._core.kernels cimport half       # before loops.hpp, which needs it
from cygrad._core.kernels.apply cimport FindLoop
from cygrad._core.kernels.iterate cimport InnerLoop

cdef extern from "loops.hpp" namespace "cygrad" nogil:
    struct Chain:
        InnerLoop step[2]
        void* step_data[2]
        int steps
        double p[4]                  # parameters of the expression

# uf0, uf1: the UFunc of each step, -1 for none; p is set by the caller. Operands and flags as for apply2; b may be NULL: one operand.
cdef Array* apply_chain(const char* name, FindLoop find, Array* a, Array* b, Chain* chain, int uf0, int uf1, int flags) noexcept nogil
