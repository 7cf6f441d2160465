# Generator: torch's interface on numpy.random.PCG64 (M. O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for random
# number generation", 2014). Streams differ from torch's for the same seed; everything else is as there. Contract: generator.pxd.

import os
import struct

import numpy

from cygrad._core.array cimport Array, array_empty
from cygrad._core.device cimport device_object, device_usable
from cygrad._core.dtypes cimport UINT8
from cygrad._core.kernels.copy cimport contiguous
from cygrad._core.array cimport array_decref
from cygrad._core.errors cimport raise_pending
from cygrad._core.memory cimport process_generation
from cygrad._core.tensor cimport Tensor, tensor_wrap
from libc.string cimport memcpy

cdef object DEFAULT_SEED = 67280421310721     # that of torch's new generators
cdef object MASK = (1 << 64) - 1
cdef object layout = struct.Struct("<8s4QIIQ")     # magic, state (low, high), increment (low, high), has_uint32, uinteger, seed
cdef bytes MAGIC = b"cgPCG64\x01"


cdef class Generator:
    """A stream of random numbers with a state that can be seeded, read and set. ``Generator(device="cpu")``.

    New generators start from the same fixed seed; call ``seed()`` for one that differs from run to run.
    """

    def __init__(self, device: object = "cpu") -> None:
        device_usable(device)
        self.first_seed = DEFAULT_SEED

    cdef object stream(self):
        # NumPy locks its stream while it draws without the GIL: a thread that a forked child does not have may hold that lock (Note [Locks that outlive a fork]).
        if self.numpy is None or self.generation != process_generation:
            import numpy.random          # here, since it takes a third as long to import as the rest of NumPy
            fresh = numpy.random.PCG64(self.first_seed)
            if self.numpy is not None:
                fresh.state = self.bits.state
            self.bits = fresh
            self.generation = process_generation
            self.numpy = numpy.random.Generator(fresh)
        return self.numpy

    @property
    def device(self) -> object:
        """Where tensors are filled by this generator: the CPU."""
        return device_object(0)

    def manual_seed(self, seed: object) -> Generator:
        """Start the stream that belongs to ``seed``, an int in [-2**63, 2**64); returns the generator.

        Raises RuntimeError for other types, ValueError for ints out of that range.
        """
        if not isinstance(seed, (int, numpy.integer)) or isinstance(seed, bool):
            raise RuntimeError(f"cygrad.Generator: manual_seed expected a long, but got {type(seed).__name__}")
        value = int(seed)
        if not -(1 << 63) <= value <= MASK:
            raise ValueError(f"cygrad.Generator.manual_seed: Overflow when unpacking long long: the seed must lie in [-2**63, 2**64), got {seed}")
        self.first_seed = value & MASK
        self.numpy = None
        return self

    def seed(self) -> int:
        """Start from a seed that the operating system chooses; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self.first_seed

    def initial_seed(self) -> int:
        """The seed that the stream was started from."""
        return self.first_seed

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor, for ``set_state``."""
        cdef Py_ssize_t n = layout.size
        cdef Array* a
        cdef bytes packed
        self.stream()
        state = self.bits.state
        inner = state["state"]
        packed = layout.pack(MAGIC, inner["state"] & MASK, inner["state"] >> 64, inner["inc"] & MASK, inner["inc"] >> 64, state["has_uint32"],
                             state["uinteger"], self.first_seed)
        a = array_empty(UINT8, 1, &n)
        if a == NULL:
            raise_pending()
        memcpy(a.data, <const char*>packed, n)
        return tensor_wrap(a)

    def set_state(self, new_state: object) -> None:
        """Go on from a state that ``get_state`` gave. Raises TypeError unless it is a uint8 tensor, RuntimeError unless it is such a state."""
        cdef Array* a
        cdef bytes packed
        if not isinstance(new_state, Tensor) or (<Tensor>new_state).a.dtype != UINT8:
            raise TypeError(f"cygrad.Generator.set_state: expected a ByteTensor, but got {type(new_state).__name__}: RNG state must be a uint8 tensor from get_state()")
        a = contiguous((<Tensor>new_state).a)
        if a == NULL:
            raise_pending()
        packed = a.data[:a.numel]
        array_decref(a)
        if len(packed) != layout.size:
            raise RuntimeError(f"cygrad.Generator.set_state: Expected a state of size {layout.size} but found the input RNG state size to be {len(packed)}")
        magic, low, high, inc_low, inc_high, has_uint32, uinteger, seed = layout.unpack(packed)
        if magic != MAGIC or not inc_low & 1:
            raise RuntimeError("cygrad.Generator.set_state: these bytes are no state of a cygrad generator")
        self.stream()
        self.bits.state = {"bit_generator": "PCG64", "state": {"state": low | high << 64, "inc": inc_low | inc_high << 64},
                           "has_uint32": has_uint32, "uinteger": uinteger}
        self.first_seed = seed

    def clone_state(self) -> Generator:
        """A new generator with this one's state."""
        cdef Generator other = Generator()
        self.stream()
        other.stream()
        other.bits.state = self.bits.state
        other.first_seed = self.first_seed
        return other

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_generator, (bytes(self.get_state().tolist()),))

    def __repr__(self) -> str:
        return f"<cygrad.Generator on cpu, initial seed {self.first_seed}>"


def _rebuild_generator(packed: bytes) -> Generator:
    """The generator of a pickled state."""
    cdef Generator g = Generator()
    cdef Py_ssize_t n = len(packed)
    cdef Array* a = array_empty(UINT8, 1, &n)
    if a == NULL:
        raise_pending()
    memcpy(a.data, <const char*>packed, n)
    g.set_state(tensor_wrap(a))
    return g


cdef object numpy_generator(object generator, const char* operation):
    if generator is None:
        return default_generator.stream()
    if type(generator) is not Generator:
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'generator' must be cygrad.Generator, not {type(generator).__name__}")
    return (<Generator>generator).stream()


default_generator = Generator()
default_generator.seed()
globals()["default_generator"] = default_generator      # the cdef name is not a Python attribute
