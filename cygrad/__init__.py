"""cygrad: PyTorch's autograd as a small, typed library on NumPy arrays; this file only collects the public names.

Operations are generated from a table (codegen/derivatives) into cygrad._core.generated; compositions are in
cygrad/ops; what makes tensors is in cygrad._core.creation and its neighbours. Docs: docs/README.md.
"""

# `import x as x` says that a name is for users; a list of them could not hold those of the table.
# Importing these modules gives Tensor its operators and methods.
import cygrad._core.backward
import cygrad._core.compare_inplace
import cygrad._core.convert
import cygrad._core.copying
import cygrad._core.cycles
import cygrad._core.generated
import cygrad._core.indexing
import cygrad._core.interop
import cygrad._core.leaves
import cygrad._core.operators
import cygrad._core.rebase
import cygrad._core.reshape_inplace
import cygrad._core.resizing
import cygrad._core.writes
import cygrad.ops.diagonals
from cygrad import autograd as autograd, nn as nn, optim as optim, random as random, utils as utils
from cygrad._core.copying import UntypedStorage as UntypedStorage
from cygrad._core.creation import (
    as_tensor as as_tensor,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    empty_strided as empty_strided,
    eye as eye,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    scalar_tensor as scalar_tensor,
    tensor as tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from cygrad._core.device import device as device
from cygrad._core.dlpack import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from cygrad._core.dtypes import (
    _dtype_by_name,
    can_cast as can_cast,
    dtype as dtype,
    finfo as finfo,
    get_default_dtype as get_default_dtype,
    iinfo as iinfo,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
)
from cygrad._core.generated.functions import *
from cygrad._core.grad_mode import (
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
)
from cygrad._core.memory import empty_cache as empty_cache, memory_stats as memory_stats
from cygrad._core.options import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    strided as strided,
)
from cygrad._core.queries import (
    is_complex as is_complex,
    is_floating_point as is_floating_point,
    is_inference as is_inference,
    is_nonzero as is_nonzero,
    is_same_size as is_same_size,
    is_tensor as is_tensor,
    numel as numel,
    result_type as result_type,
)
from cygrad._core.random_ops import (
    bernoulli as bernoulli,
    multinomial as multinomial,
    normal as normal,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
)
from cygrad._core.ranges import arange as arange, linspace as linspace, logspace as logspace, range_ as range
from cygrad._core.size import Size as Size
from cygrad._core.tensor import Tensor as Tensor
from cygrad._core.workers import get_num_threads as get_num_threads, set_num_threads as set_num_threads
from cygrad._printing import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from cygrad._version import __version__ as __version__
from cygrad.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)
from cygrad.autograd.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from cygrad.ops.broadcasting import broadcast_shapes as broadcast_shapes, broadcast_tensors as broadcast_tensors
from cygrad.ops.contractions import einsum as einsum, tensordot as tensordot
from cygrad.ops.selection import (
    detach as detach,
    dropout as dropout,
)
from cygrad.random import (
    Generator as Generator,
    default_generator as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)

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
