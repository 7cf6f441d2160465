# What an operation does that writes a tensor: refusals before anything has changed, the version, the graph after the write. With the GIL.

from cygrad._core.node cimport Node
from cygrad._core.tensor cimport Tensor

cdef int inplace_check(Tensor t, const char* operation) except -1         # refuses leaves that require grad, expanded and read-only memory, before anything changed
cdef int inplace_check_recorded(Tensor t, bint recorded, const char* operation) except -1   # the same; recorded: grad mode is on and t or another input needs grad
cdef int inplace_check_graph(Tensor t, bint recorded, const char* operation) except -1   # without the refusal of expanded memory
cdef int overlap_check_self(Tensor t, const char* operation) except -1   # refuses expanded memory
cdef int overlap_warn(Tensor t, const char* operation) except -1         # warns of it, where torch does no more
cdef int overlap_check(Tensor t, Tensor other, bint whole, const char* operation) except -1   # refuses to write t while reading memory that it shares in part with `other` (whole: in part or wholly)
cdef int version_bump(Tensor t, const char* operation) except -1         # one write happened; `operation` is a string constant
cdef int inplace_history(Tensor t, Node n) except -1                      # the written tensor becomes output 0 of n, if it is of a dtype that has gradients
cdef int inplace_saved(Tensor t, Node n) except -1                        # after inplace_history: n has saved its result
cdef int grad_fn_move(Tensor t, Node n) except -1                         # t becomes output 0 of n, whatever it is a view of; hooks stay behind, retain_grad follows
