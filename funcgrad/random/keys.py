"""Keys of random numbers, and the bits that are drawn with them: JAX's threefry, bit for bit.

A key is a value: the same key gives the same numbers, in every transform, and nothing is changed by
a draw. So a key is used once, and `split` and `fold_in` make new ones of it. Threefry is the
counter-based generator of Salmon et al. 2011: twenty rounds of additions, rotations and exclusive
ors of a key and a counter.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.config import config
from funcgrad.core.boundary import boundary
from funcgrad.core.forms import Op, elementwise
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, operand, running, type_of
from funcgrad.core.types import Array
from funcgrad.errors import KeyReuseError, line_at, located, user_place
from funcgrad.kernels import counters
from funcgrad.numpy.function_calls import as_array

__all__ = [
    "Key",
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "size_of",
    "space",
    "split",
    "whole_bits",
    "wrap_key_data",
]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
WORD = 0xFFFFFFFF
_WORDS = {n: np.dtype(f"u{n // 8}") for n in (8, 16, 32, 64)}
FEW = 4  # words, up to which Python's integers are quicker
BLOCK = 8192  # elements whose words stay in the cache through all rounds


def _rounds(k0: Any, k1: Any, x0: Any, x1: Any) -> None:
    """Encrypt the words `x0` and `x1` in place."""
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    turned = np.empty_like(x1)
    x0 += keys[0]
    x1 += keys[1]
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 += x1
            np.right_shift(x1, np.uint32(32 - r), turned)
            np.left_shift(x1, np.uint32(r), x1)
            x1 |= turned
            x1 ^= x0
        x0 += keys[(i + 1) % 3]
        x1 += keys[(i + 2) % 3]
        x1 += np.uint32(i + 1)


_PLAIN = frozenset((np.ndarray, int, float, bool, *np.sctypeDict.values()))


def space(*xs: Any) -> Any:
    """The namespace for these: NumPy's own where nothing can be traced, in half of the time."""
    return np if not running.count and all(type(x) in _PLAIN for x in xs) else fnp


def _one(k0: int, k1: int, x0: int, x1: int) -> int:
    """The same of single words, with Python's integers: a tenth of the time of NumPy's."""
    keys = (k0, k1, k0 ^ k1 ^ int(PARITY))
    x0, x1 = x0 + k0, (x1 + k1) & WORD
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = (x0 + x1) & WORD
            x1 = (x1 << r & WORD | x1 >> 32 - r) ^ x0
        x0 += keys[(i + 1) % 3]
        x1 = (x1 + keys[(i + 2) % 3] + i + 1) & WORD
    return (x0 & WORD) << 32 | x1


def _threefry(k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
    """The two words of 32 bits as one of 64, the first above."""
    if not any(isinstance(x, np.ndarray) for x in (k0, k1, x0, x1)):
        return np.uint64(_one(int(k0), int(k1), int(x0), int(x1)))
    words = [np.asarray(x, np.uint32) for x in (k0, k1, x0, x1)]
    shape = np.broadcast_shapes(*(x.shape for x in words))
    if math.prod(shape) <= FEW:
        each = zip(*(np.broadcast_to(x, shape).ravel().tolist() for x in words), strict=True)
        return np.array([_one(*row) for row in each], np.uint64).reshape(shape)[()]
    flat = [x.reshape(1) if x.size == 1 else np.broadcast_to(x, shape).ravel() for x in words]
    out = np.empty(math.prod(shape), np.uint64)
    for start in range(0, out.size, BLOCK):
        part = out[start : start + BLOCK]
        cut = [x if x.size == 1 else x[start : start + BLOCK] for x in flat]
        high, low = (np.array(np.broadcast_to(x, part.shape)) for x in cut[2:])
        _rounds(cut[0], cut[1], high, low)
        np.left_shift(high, np.uint64(32), part, dtype=np.uint64)
        part |= low
    return out.reshape(shape)[()]


def _samples() -> list[Sample]:
    words = np.array([0, 1, 2**32 - 1], np.uint32)
    return [Sample((words, words[::-1], words, words)), Sample((*words[1:], words, words[0]))]


threefry: Op = elementwise(Pointwise(_threefry, 4), name="threefry", sample=_samples)
threefry.primitive.take_kernel(counters.words)  # type: ignore[attr-defined]

# -------------------------------------------------------------------------------------- keys


class Key:
    """A key, or an array of keys: a tree whose one leaf has two words for each.

    Made by `key` and `split`. With ``config.check_keys`` a key that is used twice is an error.

    Examples
    --------
    >>> from funcgrad import random
    >>> random.split(random.key(0), 3).shape
    (3,)
    """

    __slots__ = ("data", "used")

    def __init__(self, data: Any) -> None:
        self.data = data
        self.used: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of keys; () of one."""
        return tuple(np.shape(self.data)[:-1])

    @property
    def ndim(self) -> int:
        """The number of axes of the array of keys."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single key has no length")
        return self.shape[0]

    @boundary
    def __getitem__(self, index: Any) -> Key:
        given = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in given:
            given = (*given, Ellipsis)
        return Key(self.data[(*given, slice(None))])

    def __iter__(self) -> Iterator[Key]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        kind = f"{self.shape} keys" if self.shape else "key"
        return f"<{kind} of threefry, {self.data!r}>"


tree.register_node(
    Key,
    lambda k: ((k.data,), None),
    lambda _, c: Key(c[0]),
    lambda k: (((tree.GetAttrKey("data"), k.data),), None),
)


def _seed(seed: Any) -> Array:
    """The two words of a seed."""
    if isinstance(seed, (int, np.integer)):
        if not -(2**63) <= int(seed) < 2**64:
            raise OverflowError(located(f"a seed has 64 bits; {seed} has more"))
        n = int(seed) % 2**64
        return np.array([n >> 32, n & 0xFFFFFFFF], np.uint32)
    x = as_array(seed)
    aval = type_of(x)
    if aval.dtype.kind not in "iu" or aval.shape:
        raise TypeError(located(f"a seed is one integer, not {aval}"))
    wide = fnp.astype(x, np.uint64)
    words = [fnp.right_shift(wide, np.uint64(32)), fnp.bitwise_and(wide, np.uint64(0xFFFFFFFF))]
    if aval.dtype.itemsize <= 4:
        words[0] = fnp.zeros((), np.uint64)
    return fnp.astype(fnp.stack(words), np.uint32)


def key(seed: Any, *, impl: str | None = None) -> Key:
    """A key made of a seed.

    Parameters
    ----------
    seed : int
        Of 64 bits; it may be traced.
    impl : {"threefry2x32", None}
        The generator; there is one.

    Returns
    -------
    Key
        A tree of one leaf, so that it may be an argument of transformed functions, and arrays of
        keys may be mapped over.

    Examples
    --------
    >>> import funcgrad as fg
    >>> first, second = fg.random.split(fg.random.key(0))
    >>> fg.random.normal(first), fg.random.normal(second)
    (np.float64(1.88002989...), np.float64(-1.40088410...))
    >>> fg.vmap(fg.random.uniform)(fg.random.split(fg.random.key(1), 3)).shape
    (3,)
    """
    _check_impl(impl)
    return Key(_seed(seed))


def PRNGKey(seed: Any, *, impl: str | None = None) -> Array:
    """A key made of a seed, as an array of two words; its use is not checked.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.PRNGKey(42)
    array([ 0, 42], dtype=uint32)
    """
    _check_impl(impl)
    return _seed(seed)


def _check_impl(impl: str | None) -> None:
    if impl not in (None, "threefry2x32", "fry"):
        raise ValueError(located(f"the one generator of keys is 'threefry2x32', not {impl!r}"))


Source = Any  # a key, or a generator of NumPy


def words_of(key: Source, what: str, consumed: bool = True) -> tuple[Array, Array]:
    """The two words of one key; what NumPy's generators draw makes a key, too."""
    data = _data(key, what, consumed)
    aval = type_of(operand(data))
    if aval.shape != (2,):
        raise ValueError(
            located(
                f"random.{what} takes a single key, not an array of keys of shape "
                f"{aval.shape[:-1]}; map over them with vmap"
            )
        )
    return operand(data[0]), operand(data[1])


def _data(key: Source, what: str, consumed: bool) -> Any:
    if isinstance(key, Key):
        if config.check_keys and consumed:
            _use(key)
        return key.data
    if isinstance(key, np.random.Generator):
        return key.integers(0, 2**32, 2, np.uint32)
    if isinstance(key, np.random.RandomState) or key is np.random:
        return key.randint(0, 2**32, 2, np.uint32)
    x = operand(key)
    aval = type_of(x)
    if aval.dtype != np.uint32 or aval.shape[-1:] != (2,):
        raise TypeError(
            located(
                f"random.{what} takes a key (random.key(seed)), a numpy.random.Generator or "
                f"numpy.random first, not {aval}"
            )
        )
    return x


def _use(key: Key) -> None:
    """Note that a key is used; raise if it was used before."""
    if key.used is not None:
        raise KeyReuseError(
            located(
                "a key of funcgrad.random is used twice, so both draws have the same numbers; "
                "split the key, or use random.clone(key) if they shall; it was used before\n"
                f"  at {key.used}"
            )
        )
    key.used = line_at(user_place())


def like(key: Source, data: Any) -> Any:
    """New keys: of the class of the one they are made of."""
    return Key(data) if not isinstance(key, (np.ndarray, Tracer)) else data


def _pairs(words: Any) -> Any:
    """Words of 64 bits as two of 32, in a new last axis."""
    if space(words) is np:
        both = np.empty((*np.shape(words), 2), np.uint32)
        both[..., 0] = words >> np.uint64(32)
        both[..., 1] = words & np.uint64(WORD)
        return both
    parts = [fnp.right_shift(words, np.uint64(32)), fnp.bitwise_and(words, np.uint64(0xFFFFFFFF))]
    return fnp.astype(fnp.stack(parts, axis=-1), np.uint32)


def split(key: Source, num: int | Sequence[int] = 2) -> Any:
    """New keys, which have nothing to do with each other or with what the old one draws.

    Parameters
    ----------
    key : Key
        It must not be used any more; or an array of two words; or a generator of NumPy.
    num : int or tuple of int, optional
        How many; the shape of the array of keys.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.split(fg.random.PRNGKey(0))
    array([[1797259609, 2579123966],
           [ 928981903, 3453687069]], dtype=uint32)
    """
    return like(key, _pairs(_words(key, (num,) if isinstance(num, int) else tuple(num), "split")))


def fold_in(key: Source, data: Any) -> Any:
    """A new key made of a key and a number, such as the number of a step.

    Parameters
    ----------
    key : Key
    data : int
        Of 32 bits; it may be traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.fold_in(fg.random.PRNGKey(0), 3)
    array([2467461003, 3840466878], dtype=uint32)
    """
    k0, k1 = words_of(key, "fold_in", consumed=False)
    if isinstance(data, (int, np.integer)):
        data = np.uint32(int(data) % 2**32)
    count = fnp.astype(as_array(data), np.uint32)
    if type_of(operand(count)).shape:
        raise ValueError(located("fold_in takes one number; map over several with vmap"))
    return like(key, _pairs(threefry(k0, k1, np.uint32(0), count)))


def clone(key: Key) -> Key:
    """The same key once more, where two draws shall have the same numbers.

    Examples
    --------
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> bool(fg.random.normal(k) == fg.random.normal(fg.random.clone(k)))
    True
    """
    return Key(key.data) if isinstance(key, Key) else key


def key_data(keys: Source) -> Array:
    """The words of a key, or of an array of keys.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.key_data(fg.random.key(42))
    array([ 0, 42], dtype=uint32)
    """
    found: Array = keys.data if isinstance(keys, Key) else keys
    return found


def wrap_key_data(key_bits_array: Any, *, impl: str | None = None) -> Key:
    """The key, or the array of keys, that has these words.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.random.wrap_key_data(np.array([0, 42], np.uint32))
    <key of threefry, array([ 0, 42], dtype=uint32)>
    """
    _check_impl(impl)
    data = _data(key_bits_array, "wrap_key_data", False)
    return Key(data)


def key_impl(keys: Source) -> str:
    """The name of the generator of a key.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.key_impl(fg.random.key(0))
    'threefry2x32'
    """
    return "threefry2x32"


def key_dtype(impl: str | None = None) -> np.dtype[Any]:
    """The dtype of the two words of a key, as `key_data` gives them.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.key_dtype()
    dtype('uint32')
    """
    _check_impl(impl)
    return np.dtype(np.uint32)


# -------------------------------------------------------------------------------------- bits


def size_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple(operator.index(n) for n in shape)


def _words(key: Source, shape: tuple[int, ...], what: str) -> Any:
    """For every element 64 bits."""
    k0, k1 = words_of(key, what)
    if shape == ():
        return threefry(k0, k1, np.uint32(0), np.uint32(0))
    size = math.prod(shape)
    if size <= WORD:
        return threefry(k0, k1, np.uint32(0), np.arange(size, dtype=np.uint32).reshape(shape))
    count = np.arange(size, dtype=np.uint64).reshape(shape)
    return threefry(k0, k1, (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32))


def whole_bits(key: Source, width: int, shape: tuple[int, ...], what: str) -> Any:
    """Random integers without sign of `width` bits."""
    words = _words(key, shape, what)
    if width == 64:
        return words
    xp = space(words)
    high = xp.right_shift(words, np.uint64(32))
    return xp.astype(xp.bitwise_xor(high, words), _WORDS[width])


def bits(key: Source, shape: Any = (), dtype: Any = None) -> Array:
    """Random integers without sign: all their bits are drawn.

    Parameters
    ----------
    key : Key
    shape : tuple of int, optional
    dtype : dtype, optional
        uint64 by default.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.bits(fg.random.key(0), (2,), "uint32")
    array([4070199207, 4202968722], dtype=uint32)
    """
    kind = np.dtype(np.uint64 if dtype is None else dtype)
    if kind.kind != "u":
        raise ValueError(located(f"random.bits: the dtype is an integer without sign, not {kind}"))
    return whole_bits(key, kind.itemsize * 8, size_of(shape), "bits")
