"""cygrad: PyTorch's autograd as a small, typed library on NumPy arrays; this file only collects the public names.

Operations are generated from a table (codegen/derivatives) into cygrad._core.generated; compositions are in
cygrad/ops; what makes tensors is in cygrad._core.creation and its neighbours. Docs: docs/README.md.
"""

# Importing these modules gives Tensor its operators and methods.
import cygrad._core.convert
import cygrad._core.copying
import cygrad._core.engine
import cygrad._core.generated
import cygrad._core.indexing
import cygrad._core.interop
import cygrad._core.operators
import cygrad._core.writes
from cygrad import autograd, nn, optim, random, utils
from cygrad._core.copying import UntypedStorage
from cygrad._core.creation import (
    as_tensor,
    asarray,
    empty,
    empty_like,
    empty_strided,
    eye,
    from_numpy,
    frombuffer,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    tensor,
    zeros,
    zeros_like,
)
from cygrad._core.device import device
from cygrad._core.dlpack import from_dlpack, to_dlpack
from cygrad._core.dtypes import (
    _dtype_by_name,
    can_cast,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from cygrad._core.generated import functions
from cygrad._core.generated.functions import *
from cygrad._core.grad_mode import is_grad_enabled
from cygrad._core.memory import empty_cache, memory_stats
from cygrad._core.options import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from cygrad._core.queries import is_complex, is_floating_point, is_nonzero, is_same_size, is_tensor, numel, result_type
from cygrad._core.random_ops import (
    bernoulli,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from cygrad._core.ranges import arange, linspace, logspace
from cygrad._core.ranges import range_ as range
from cygrad._core.size import Size
from cygrad._core.tensor import Tensor
from cygrad._core.workers import get_num_threads, set_num_threads
from cygrad._printing import get_printoptions, printoptions, set_printoptions
from cygrad._version import __version__
from cygrad.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from cygrad.ops.broadcasting import broadcast_shapes, broadcast_tensors
from cygrad.ops.contractions import einsum, tensordot
from cygrad.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "Generator",
    "Size",
    "Tensor",
    "UntypedStorage",
    "__version__",
    "arange",
    "as_tensor",
    "asarray",
    "autograd",
    "bernoulli",
    "bool",
    "broadcast_shapes",
    "broadcast_tensors",
    "can_cast",
    "cdouble",
    "cfloat",
    "channels_last",
    "channels_last_3d",
    "complex64",
    "complex128",
    "contiguous_format",
    "default_generator",
    "device",
    "double",
    "dtype",
    "einsum",
    "empty",
    "empty_cache",
    "empty_like",
    "empty_strided",
    "enable_grad",
    "eye",
    "finfo",
    "float",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "functions",
    "get_default_dtype",
    "get_num_threads",
    "get_printoptions",
    "get_rng_state",
    "half",
    "iinfo",
    "initial_seed",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_complex",
    "is_floating_point",
    "is_grad_enabled",
    "is_nonzero",
    "is_same_size",
    "is_tensor",
    "layout",
    "linspace",
    "logspace",
    "long",
    "manual_seed",
    "memory_format",
    "memory_stats",
    "multinomial",
    "nn",
    "no_grad",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "optim",
    "preserve_format",
    "printoptions",
    "promote_types",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "range",
    "result_type",
    "scalar_tensor",
    "seed",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "short",
    "strided",
    "tensor",
    "tensordot",
    "to_dlpack",
    "uint8",
    "utils",
    "zeros",
    "zeros_like",
]
__all__ += functions.__all__

uint8: dtype = _dtype_by_name("uint8")
int8: dtype = _dtype_by_name("int8")
int16: dtype = _dtype_by_name("int16")
int32: dtype = _dtype_by_name("int32")
int64: dtype = _dtype_by_name("int64")
float16: dtype = _dtype_by_name("float16")
float32: dtype = _dtype_by_name("float32")
float64: dtype = _dtype_by_name("float64")
complex64: dtype = _dtype_by_name("complex64")
complex128: dtype = _dtype_by_name("complex128")
bool: dtype = _dtype_by_name("bool")
short: dtype = int16
int: dtype = int32
long: dtype = int64
half: dtype = float16
float: dtype = float32
double: dtype = float64
cfloat: dtype = complex64
cdouble: dtype = complex128
