"""Sources of random numbers that give PyTorch's numbers for PyTorch's seeds.

They are the Mersenne twister, and the ways in which PyTorch's CPU kernels make uniform and normal
numbers of its 32 bits, so that ``manual_seed(0)`` gives the same initial weights in both.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from funcgrad.errors import UnsupportedCallError
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.device import CPU, check_device, device
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import in_kind, is_half
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip

DEFAULT_SEED = 67280421310721
SIXTEEN = 16
WORDS = 624  # of the twister
STATE = np.dtype(  # PyTorch's form of a state
    [("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"),
     ("words", "<u8", WORDS), ("unused", "<f8"), ("spare", "<f8"), ("rho", "<f8"),
     ("has_spare", "<i4"), ("padding", "<i4"), ("single", "<f8")]
)  # fmt: skip


class Generator:
    """A source of random numbers with its own seed.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self.lock = threading.RLock()  # a signal's handler may draw in the middle of a draw
        self.manual_seed(DEFAULT_SEED)

    device: device = CPU

    @property
    def bits(self) -> Any:
        """NumPy's source of bits; a step that is traced must not touch it."""
        if modes.stage is not None:
            raise UnsupportedCallError(
                modes.stage.refuse(
                    "a source of random numbers is used in a way that cannot be compiled"
                )
            )
        return self._bits

    @bits.setter
    def bits(self, source: Any) -> None:
        if hasattr(self, "_bits"):
            _ = self.bits
        self._bits = source

    @property
    def numpy(self) -> np.random.Generator:
        """NumPy's generator over the same source."""
        return np.random.Generator(self.bits)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, of which the twister takes the last 32 bits."""
        number = int(seed)
        if not -(1 << 63) <= number < 1 << 64:
            raise RuntimeError("Overflow when unpacking long long")
        state: Any = np.random.RandomState(number % (1 << 32))
        self.bits = state._bit_generator
        self._seed = number % (1 << 64)
        self.spare: float | None = None  # normal numbers come in pairs
        return self

    def initial_seed(self) -> int:
        """The seed."""
        return self._seed

    def seed(self) -> int:
        """Start again from a seed of the operating system."""
        words = np.random.SeedSequence().generate_state(1, np.uint64)
        self.manual_seed(int(words[0]) >> 11)
        return self._seed

    def get_state(self) -> Tensor:
        """The state as PyTorch's 5056 bytes, for `set_state`; both libraries take it."""
        found = self.bits.state["state"]
        state = np.zeros((), STATE)
        fresh = found["pos"] == WORDS and int(found["key"][0]) == self._seed % (1 << 32)
        state["seed"], state["seeded"] = self._seed, 1
        state["words"], state["next"] = found["key"], 0 if fresh else found["pos"]
        state["left"] = 1 if fresh else WORDS + 1 - found["pos"]
        if self.spare is not None:
            state["spare"], state["has_spare"] = self.spare, 1
        return box(np.frombuffer(state.tobytes(), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state, one of PyTorch's too."""
        raw = _bytes_of(new_state)
        if len(raw) != STATE.itemsize:
            raise RuntimeError("RNG state is wrong size")
        state = np.frombuffer(raw, STATE)[0]
        if not 0 <= state["next"] <= WORDS or not 1 <= state["left"] <= WORDS:
            raise RuntimeError("RNG state is invalid")
        pos = WORDS if state["left"] == 1 else int(state["next"])
        key = state["words"].astype(np.uint32)
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": pos}}
        self._seed = int(state["seed"])
        self.spare = float(state["spare"]) if state["has_spare"] else None
        return self

    # -- numbers

    def words(self, count: int) -> Any:
        """Words of 32 bits."""
        return self.bits.random_raw(count).astype(np.uint64)

    def long_words(self, count: int) -> Any:
        """Words of 64 bits, each of two."""
        pairs = self.words(2 * count)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    def uniform(self, count: int, dtype: np.dtype[Any]) -> Any:
        """Numbers of [0, 1): of 24 bits, in double precision of 53.

        In half precision they are rounded, and 0 where that would make them 1.
        """
        if dtype == np.float64:
            return (self.long_words(count) & np.uint64((1 << 53) - 1)) * 2.0**-53
        found = in_kind((self.words(count) & np.uint64((1 << 24) - 1)) * 2.0**-24, dtype)
        if is_half(dtype):
            np.copyto(found, 0, where=found >= 1)
        return found

    def normal(self, count: int, dtype: np.dtype[Any]) -> Any:
        """Numbers of the standard normal distribution, in double precision where they are few."""
        if count < SIXTEEN:
            return self.normals(count, dtype)
        single = np.dtype(np.float32) if is_half(dtype) else dtype
        whole = count // SIXTEEN * SIXTEEN
        # those beyond the blocks are drawn anew with the last 16, in half precision only then
        drawn = np.empty(count, single)
        first = whole if is_half(dtype) else count
        drawn[:first] = self.uniform(first, single)
        drawn[:whole] = _box_muller(drawn[:whole])
        if whole < count:
            drawn[-SIXTEEN:] = _box_muller(self.uniform(SIXTEEN, single))
        return in_kind(drawn, dtype)

    def normals(self, count: int, dtype: np.dtype[Any]) -> Any:
        """The same, always in double precision, two at a time."""
        return in_kind(np.array([self._one_normal() for _ in range(count)], float), dtype)

    def _one_normal(self) -> float:
        if self.spare is not None:
            found, self.spare = self.spare, None
            return found
        first, second = self.uniform(2, np.dtype(np.float64))
        radius, angle = np.sqrt(-2 * np.log1p(-second)), 2 * np.pi * first
        self.spare = float(radius * np.sin(angle))
        return float(radius * np.cos(angle))

    def below(self, count: int, extent: int) -> Any:
        """Integers of [0, extent)."""
        if extent >= 1 << 28:
            return (self.long_words(count) % np.uint64(extent)).astype(np.int64)
        return (self.words(count) % np.uint64(extent)).astype(np.int64)

    def permutation(self, n: int) -> Any:
        """The integers below `n` in random order."""
        order = list(range(n))
        for i, word in enumerate(self.words(max(n - 1, 0)).tolist()):
            j = i + word % (n - i)
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)


def _bytes_of(state: Any) -> bytes:
    """The content of a tensor of bytes, one of PyTorch's too."""
    if isinstance(state, Tensor):
        array = as_array(state)
    elif type(state).__name__ == "Tensor" and hasattr(state, "numpy"):
        array = state.numpy()
    else:
        name = f"{type(state).__module__}.{type(state).__qualname__}".removeprefix("builtins.")
        raise TypeError(f"expected a torch.ByteTensor, but got {name}")
    if array.dtype != np.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    return bytes(array.tobytes())


def _box_muller(uniform: Any) -> Any:
    """Blocks of 16 uniform numbers made normal: cosines of the first eight, then sines."""
    blocks = uniform.reshape(-1, 2, 8)
    one, turn = uniform.dtype.type(1), uniform.dtype.type(2 * np.pi)
    radius = np.sqrt(-2 * np.log(one - blocks[:, 0]))
    angle = turn * blocks[:, 1]
    made = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return made.reshape(-1).astype(uniform.dtype)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default source of random numbers again from `seed`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default source again from a seed of the operating system."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default source."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default source."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default source back to a state."""
    default_generator.set_state(new_state)
