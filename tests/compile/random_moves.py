"""Arrays in random memory layouts, and random arrangements of their elements."""

import numpy as np

import funcgrad.numpy as fnp

PADS = ["constant", "edge", "reflect", "wrap"]
LIMIT = 40_000  # elements


def laid_out(r, x):
    """The array in some memory layout."""
    if not x.ndim:
        return x if r.random() < 0.5 else x[()]
    which = r.randrange(10)
    if which == 0:
        return x[::-1]
    if which == 1:
        return np.asfortranarray(x)
    if which == 2:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if which == 3:
        return np.broadcast_to(x[:1], x.shape) if x.shape[0] else x
    if which == 4:
        x.flags.writeable = False
    if which == 5:
        padded = np.zeros(x.nbytes + 1, np.uint8)[1:]  # not aligned
        y = padded.view(x.dtype).reshape(x.shape) if x.size else x
        y[...] = x
        return y
    return x


def positions(r, n, count):
    return np.array([r.randint(-n, n - 1) for _ in range(count)], dtype=np.int64)


def move(r, x, others):
    """Another arrangement of the elements, or of those of two arrays."""
    name = r.choice(["reshape", "broadcast", "join", "transpose", "slice", "flip", "newaxis",
                     "pad", "stack", "tile", "roll", "split", "triangle", "diagonal", "repeat",
                     "squeeze"])  # fmt: skip
    ndim, size = x.ndim, x.size
    if name == "reshape":
        flat = r.random() < 0.5 or ndim < 2 or not size
        return np.reshape(x, (-1,)) if flat else x.reshape(-1, x.shape[-1])
    if name == "broadcast" and ndim < 4:
        return np.broadcast_to(x, (r.randint(1, 3), *x.shape))
    if name == "stack" and ndim < 4:
        return fnp.stack([x, r.choice([y for y in others if y.shape == x.shape] or [x])], -1)
    if name == "newaxis" and ndim < 4:
        return x[..., None] if r.random() < 0.5 else x[None]
    if not ndim or not size:
        return None
    axis = r.randrange(ndim)
    if name == "transpose":
        order = list(range(ndim))
        r.shuffle(order)
        return np.transpose(x, order)
    if name == "slice":
        return x[tuple(some_slice(r, n) for n in x.shape)]
    if name == "flip":
        return fnp.flip(x, axis)
    if name == "pad" and ndim < 3:
        mode = r.choice(PADS)
        return fnp.pad(x, r.choice([1, (0, 2)]) if min(x.shape) > 2 else 1,
                       mode if min(x.shape) > 2 else "constant")  # fmt: skip
    if name == "join":
        fitting = [y for y in others if y.ndim == ndim and rest(y, axis) == rest(x, axis)]
        return fnp.concatenate([x, r.choice(fitting), x[:0] if axis == 0 else x], axis)
    if name == "tile":
        return fnp.tile(x, r.choice([2, (2, 1)]))
    if name == "roll":
        return fnp.roll(x, r.randint(-3, 3), axis)
    if name == "split":
        return r.choice(fnp.array_split(x, 2, axis))
    if name == "triangle" and ndim > 1:
        return r.choice([fnp.tril, fnp.triu])(x, r.randint(-1, 1))
    if name == "diagonal" and ndim > 1:
        return fnp.diagonal(x) if r.random() < 0.5 else fnp.trace(x)
    if name == "repeat":
        return fnp.repeat(x, 2, axis)
    return fnp.squeeze(x)


def rest(x, axis):
    return x.shape[:axis] + x.shape[axis + 1 :]


def some_slice(r, n):
    if r.random() < 0.4 or n < 2:
        return slice(None)
    if r.random() < 0.15:
        return slice(None, None, r.choice([-1, -2, 3]))
    start = r.randint(0, n - 1)
    return slice(start, r.randint(start, n), r.choice([1, 1, 2]))


def fits(a, b):
    try:
        return int(np.prod(np.broadcast_shapes(a, b), dtype=int)) < LIMIT
    except ValueError:
        return False
