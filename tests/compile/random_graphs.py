"""Random programs over arrays: shapes, dtypes, broadcasting, reductions, index maps, outputs.

A program is made of a source of random choices, so that hypothesis can shrink it and a script can
number it. Values stay of moderate size, and no choice depends on a rounded value.
"""

from random import Random

import numpy as np

import funcgrad.numpy as fnp

EXTENTS = [1, 1, 2, 3, 5, 8, 17, 33]
UNARY = [
    np.sin,
    np.cos,
    np.tanh,
    np.negative,
    lambda x: np.exp(np.sin(x)),
    lambda x: np.log1p(x * x),
    lambda x: np.sqrt(x * x + 1.0),
    lambda x: 1.0 / (1.0 + x * x),
    lambda x: np.abs(x) * 0.5,
    lambda x: np.tanh(x) ** 2,
    lambda x: x / 3.0,
]
BINARY = [
    np.add,
    np.subtract,
    lambda x, y: np.tanh(x) * y,
    lambda x, y: x / (1.0 + y * y),
    np.maximum,
    np.minimum,
    lambda x, y: fnp.where(fnp.asarray(x) == x, x, y),
]
REDUCTIONS = ["sum", "mean", "max", "min", "var", "prod", "std"]


class Program:
    """A function of a few arrays, as a list of steps over earlier values."""

    def __init__(self, random, length=None):
        self.random = random
        self.dtypes = [random.choice(["float64", "float64", "float32"])]
        rank = random.randint(0, 3)
        self.shape = tuple(random.choice(EXTENTS) for _ in range(rank))
        if random.random() < 0.03 and rank:
            self.shape = (*self.shape[:-1], 0)
        self.inputs = [self.array() for _ in range(random.randint(1, 3))]
        self.length = random.randint(1, 12) if length is None else length
        self.seed = random.randint(0, 10**9)
        layouts = Random(self.seed)
        self.inputs = [laid_out(layouts, x) for x in self.inputs]

    def array(self):
        """An array that broadcasts against the program's shape, in any memory layout."""
        r = self.random
        shape = tuple(n if r.random() < 0.75 else 1 for n in self.shape)
        shape = shape[r.randint(0, len(shape)) if r.random() < 0.3 else 0 :]
        x = np.random.default_rng(r.randint(0, 10**9)).standard_normal(shape)
        x = x.astype(r.choice(self.dtypes))
        if x.ndim and r.random() < 0.2:
            x = x[::-1]
        return np.asfortranarray(x) if r.random() < 0.2 else x

    def __call__(self, *args):
        r = Random(self.seed)
        values = list(args)
        for _ in range(self.length):
            values.append(self.step(r, values))
        outputs = [values[-1]] + [v for v in values[len(args) :] if r.random() < 0.2]
        return tuple(outputs)

    def step(self, r, values):
        x = r.choice(values[-4:]) if r.random() < 0.7 else r.choice(values)
        kind = r.random()
        if kind < 0.3:
            return r.choice(UNARY)(x)
        if kind < 0.6:
            return self.binary(r, x, values)
        if kind < 0.8:
            return self.reduction(r, x)
        return self.movement(r, x, values)

    def binary(self, r, x, values):
        fitting = [v for v in values if fits(np.shape(v), np.shape(x))]
        y = r.choice(fitting) if r.random() < 0.9 else r.choice([2.0, -1.0, 0.5, 0.1])
        return r.choice(BINARY)(x, y)

    def reduction(self, r, x):
        shape = np.shape(x)
        axes = tuple(k for k in range(len(shape)) if r.random() < 0.5)
        name = r.choice(REDUCTIONS)
        count = int(np.prod([shape[k] for k in axes], dtype=int))
        if count == 0 and name != "sum":
            name = "sum"
        if name == "std":  # its derivative is of no use where there is no spread
            return fnp.var(x, axes, keepdims=r.random() < 0.5)
        x = np.tanh(x) if name == "prod" else x
        total = getattr(fnp, name)(x, axes, keepdims=r.random() < 0.5)
        return total * (1.0 / max(count, 1) ** 0.5) if name == "sum" else total

    def movement(self, r, x, values):
        shape = np.shape(x)
        moves = ["reshape", "broadcast", "cast", "join"]
        if shape:
            moves += ["transpose", "slice", "gather", "flip", "newaxis", "outer", "pad"]
        move = r.choice(moves)
        if move == "transpose":
            order = list(range(len(shape)))
            r.shuffle(order)
            return np.transpose(x, order)
        if move == "slice":
            return x[tuple(some_slice(r, n) for n in shape)]
        if move == "gather" and shape[0]:
            return x[np.array([r.randint(-shape[0], shape[0] - 1) for _ in range(r.randint(1, 6))])]
        if move == "flip":
            return x[::-1]
        if move == "newaxis" and len(shape) < 4:
            return x[..., None] if r.random() < 0.5 else x[None]
        if move == "outer" and len(shape) == 1 and shape[0] < 40:
            return x[:, None] * np.cos(x)
        if move == "pad" and len(shape) < 3:
            return fnp.pad(x, 1)
        if move == "reshape":
            return np.reshape(x, (-1,)) if np.size(x) else x
        if move == "broadcast" and len(shape) < 3:
            return np.broadcast_to(x, (2, *shape))
        if move == "cast":
            return fnp.asarray(x).astype(r.choice(["float64", "float32"]))
        if move == "join" and shape and shape[0] < 200:
            return np.concatenate([x, np.cos(x)], 0)
        return x * 1.0


def laid_out(r, x):
    """An input with gaps in memory, steps of no bytes or at an odd address, now and then."""
    how = r.random()
    if not x.ndim or not x.size or how < 0.7:
        return x
    if how < 0.8:
        axis = r.randrange(x.ndim)
        return np.repeat(x, 2, axis)[(slice(None),) * axis + (slice(None, None, 2),)]
    if how < 0.9:
        return np.broadcast_to(x[:1], x.shape)
    return np.frombuffer(b"." + x.tobytes(), x.dtype, x.size, 1).reshape(x.shape)


def some_slice(r, n):
    if r.random() < 0.4 or n < 2:
        return slice(None)
    start = r.randint(0, n - 1)
    return slice(start, r.randint(start + 1, n), r.choice([1, 1, 2]))


def fits(a, b):
    try:
        return int(np.prod(np.broadcast_shapes(a, b), dtype=int)) < 40000
    except ValueError:
        return False
