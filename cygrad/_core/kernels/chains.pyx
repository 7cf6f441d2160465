# Chains of a prepared block, NumPy's loops and a final expression. Contract: chains.pxd.

from cygrad._core.array cimport Array
from cygrad._core.dtypes cimport FLOAT16, FLOAT32
from cygrad._core.kernels.apply cimport Call, FindLoop, REUSE, call_run, call_reusing, common_dtype, fail_dtype
from cygrad._core.kernels.ufuncs cimport LoopEntry, ufunc_loop


cdef Array* apply_chain(const char* name, FindLoop find, Array* a, Array* b, Chain* chain, int uf0, int uf1, int flags) noexcept nogil:
    cdef Call c
    cdef LoopEntry* entry
    cdef int t, k
    c.n = 1 if b == NULL else 2
    c.operands[0] = a
    c.operands[1] = b
    t = common_dtype(c.n, c.operands, flags)
    if t < 0:
        return NULL
    c.inner = find(t)
    if c.inner == NULL:
        return fail_dtype(name, t)
    chain.steps = 0
    for k in range(2):
        if (uf0 if k == 0 else uf1) < 0:
            break
        entry = ufunc_loop(uf0 if k == 0 else uf1, FLOAT32 if t == FLOAT16 else t)
        chain.step[k] = entry.inner
        chain.step_data[k] = entry.data
        chain.steps += 1
    c.name = name
    c.data = chain
    for k in range(c.n + 1):
        c.dtypes[k] = t
    c.result = t
    return call_reusing(&c) if flags & REUSE else call_run(&c, NULL)
