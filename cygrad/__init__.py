"""cygrad: PyTorch's autograd as a small, typed library on NumPy arrays; this file only collects the public names.

Operations are generated from a table (codegen/derivatives) into cygrad._core.generated; compositions are in cygrad/ops; what makes tensors is in
cygrad._core.creation and its neighbours. Docs: docs/README.md.
"""

from cygrad._core.tensor import Tensor
from cygrad._core import engine as _engine
from cygrad._core.generated.functions import *  # noqa: F403
from cygrad._core.generated import functions as _generated
from cygrad._core import operators as _operators, writes as _writes, indexing as _indexing, convert as _convert, copying as _copying, interop as _interop
from cygrad._core.creation import (
    as_tensor, asarray, empty, empty_like, empty_strided, eye, from_numpy, frombuffer, full, full_like, ones, ones_like, scalar_tensor, tensor, zeros, zeros_like)
from cygrad._core.device import device
from cygrad._core.copying import UntypedStorage
from cygrad._core.dlpack import from_dlpack, to_dlpack
from cygrad._core.dtypes import can_cast, dtype, finfo, get_default_dtype, iinfo, promote_types, set_default_dtype, _dtype_by_name
from cygrad._core.memory import memory_stats
from cygrad._core.options import channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided
from cygrad._core.queries import is_complex, is_floating_point, is_nonzero, is_same_size, is_tensor, numel, result_type
from cygrad._core.random_ops import bernoulli, multinomial, normal, rand, rand_like, randint, randint_like, randn, randn_like, randperm
from cygrad._core.ranges import arange, linspace, logspace
from cygrad._core.ranges import range_ as range
from cygrad._core.size import Size
from cygrad._core.workers import get_num_threads, set_num_threads
from cygrad._printing import set_printoptions
from cygrad._version import __version__
from cygrad.ops.contractions import einsum, tensordot
from cygrad import autograd, nn, optim, random
from cygrad.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from cygrad.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from cygrad._core.grad_mode import is_grad_enabled

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
short = int16
int = int32
long = int64
half = float16
float = float32
double = float64
cfloat = complex64
cdouble = complex128
