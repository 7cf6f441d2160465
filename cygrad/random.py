"""Random numbers: the generator that functions use by default, its seeds and states.

``cygrad.manual_seed(0)`` makes a program repeat its random numbers. Streams are NumPy's PCG64: a seed gives other
numbers than the same seed in torch.
The functions that draw numbers (``rand``, ``randn``, ``randint``, ...) are in the compiled core.
"""

from collections.abc import Generator as Iterator
from contextlib import contextmanager

from cygrad._core.generator import Generator, default_generator
from cygrad._core.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: int) -> Generator:
    """Seed the default generator with an int in [-2**63, 2**64) and return it.

    Raises ValueError for ints out of that range.
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator with a number from the operating system and return that number."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator was last started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator.

    Raises TypeError unless it is a uint8 tensor, RuntimeError unless ``get_rng_state`` made it.
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(enabled: bool = True) -> Iterator[None, None, None]:
    """On leaving, give the default generator the state that it had on entering."""
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)
