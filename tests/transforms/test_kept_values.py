"""What is kept of the caller's arrays: copies in their layout, or a checksum of all elements."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import MutatedCaptureError
from funcgrad.transforms.checksum import checksum

RNG = np.random.default_rng(0)


def layouts():
    x = RNG.normal(size=(24, 18))
    wide = RNG.normal(size=(48, 40))
    bytes_ = np.zeros(24 * 18 * 8 + 1, np.uint8)
    unaligned = bytes_[1:].view(np.float64).reshape(24, 18)
    unaligned[...] = x
    return {
        "C": x,
        "F": np.asfortranarray(x),
        "steps": wide[::2, ::2][:, :18],
        "reversed": x[::-1, ::-1],
        "rows reversed": x[::-1],
        "broadcast": np.broadcast_to(x[0], (24, 18)),
        "windows": np.lib.stride_tricks.sliding_window_view(x[0], 5),
        "columns": wide[:, 3:21],
        "one row": wide[5:6:1, ::2],
        "one row reversed": wide[5:6][::-1, ::-1],
        "transposed steps": wide.T[::2, ::3],
        "unaligned": unaligned,
        "single": np.asfortranarray(x.astype(np.float32))[::2],
        "empty": x[:0, ::2],
        "vector of steps": RNG.normal(size=2000)[::-2],
        "far apart": RNG.normal(size=100_000)[::997],
        "no axes": np.array(0.3),
    }


FUNCTIONS = {
    "sum": lambda x: np.sum(x),
    "sum of an axis": lambda x: np.sum(x, axis=0),
    "mean of the last axis": lambda x: np.mean(x, axis=-1),
    "matmul": lambda x: x @ x.T,
    "sines": lambda x: np.sin(x),
    "variance": lambda x: np.var(x * 3.7),
    "einsum": lambda x: np.einsum("...i,...i->...", x, x),
    "norm": lambda x: np.sqrt(np.sum(x * x, axis=0)),
    "view": lambda x: np.sum(x[..., ::-1], axis=0),
    "written into": lambda x: written(x),
}


def written(x):
    b = x * 1.0 if isinstance(x, np.ndarray) else fnp.multiply(x, 1.0)
    b[..., 0] = 2.0
    return np.sum(b, axis=0)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("layout", layouts())
def test_the_layout_of_an_input_counts_for_rounding(layout, function):
    f, x = FUNCTIONS[function], layouts()[layout]
    if x.ndim == 0 and function not in ("sum", "sines"):
        return
    with np.errstate(all="ignore"):
        want = np.asarray(f(x))
        for got in (fg.vjp(f, x)[0], fg.jvp(f, (x,), (x.copy(),))[0]):
            assert np.asarray(got).tobytes() == want.tobytes()


@pytest.mark.parametrize("layout", layouts())
def test_an_input_may_change_before_the_pullback_is_called(layout):
    x = layouts()[layout]
    want = 2 * x
    _, pull = fg.vjp(lambda x: np.sum(x * x), x)
    if x.flags.writeable and x.size:
        x[...] = 0.0
    try:
        got = pull(1.0)[0]
    except MutatedCaptureError:
        assert layout == "far apart"  # its memory as a whole is not small
    else:
        np.testing.assert_array_equal(got, want)


def test_an_output_of_jvp_shares_no_memory_with_the_input():
    x = np.ones(4)
    for f in (lambda x: x, lambda x: x[::2], lambda x: x.reshape(2, 2)):
        out = fg.jvp(f, (x,), (np.ones(4),))[0]
        out[...] = 0.0
        np.testing.assert_array_equal(x, np.ones(4))


# ------------------------------------------------------------------------- large arrays

SIZE = 70_001  # more than is copied


def changes():
    def one(x):
        x[12_345] += 1.0

    def last_bit(x):
        x[40_000] = np.nextafter(x[40_000], 9)

    def exchange(x):
        x[[5, 60_000]] = x[[60_000, 5]]

    def near_exchange(x):
        x[[5, 6]] = x[[6, 5]]

    def signs(x):
        x[100:612] *= -1

    def all_signs(x):
        np.negative(x, out=x)

    def order(x):
        x[:] = x[::-1].copy()

    def rotation(x):
        x[:] = np.roll(x, 509)

    def sorting(x):
        x.sort()

    return {f.__name__: f for f in list(locals().values())}


CHANGES = changes()
CONTENTS = {
    "normal": lambda: RNG.normal(size=SIZE),
    "tiny beside huge": lambda: np.where(RNG.random(SIZE) < 0.1, -1e30, RNG.normal(size=SIZE)),
    "with nan": lambda: np.where(RNG.random(SIZE) < 0.1, np.nan, RNG.normal(size=SIZE)),
    "with inf": lambda: np.where(RNG.random(SIZE) < 0.1, np.inf, RNG.normal(size=SIZE)),
    "antisymmetric": lambda: np.concatenate([v := RNG.normal(size=SIZE), -v]),
    "alternating": lambda: np.where(np.arange(SIZE) % 2, 1.0, -1.0) * RNG.normal(size=SIZE),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "c8", "g", "i8", ">f8"])
@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("change", CHANGES)
def test_the_checksum_notices_a_change(change, content, dtype):
    if dtype == "i8" and content != "normal":
        return
    with np.errstate(all="ignore"):
        x = (CONTENTS[content]() * (1000 if dtype == "i8" else 1)).astype(dtype)
    if np.dtype(dtype).kind != "f" and change == "last_bit":
        return
    before, old = checksum(x), x.tobytes()
    assert checksum(x.copy()) == before
    CHANGES[change](x)
    assert x.tobytes() == old or checksum(x) != before


@pytest.mark.parametrize("seed", range(20))
def test_the_checksum_notices_another_permutation_matrix(seed):
    rng = np.random.default_rng(seed)
    one, two = (np.eye(256, dtype=np.float32)[rng.permutation(256)] for _ in range(2))
    assert checksum(one) != checksum(two)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("captured", [False, True])
def test_a_change_of_a_large_array_is_noticed(change, captured, monkeypatch):
    monkeypatch.setattr(fg.config, "copy_limit", 1 << 12)  # of arguments 64 times that
    x = RNG.normal(size=SIZE)
    w = RNG.normal(size=SIZE)
    _, pull = fg.vjp(lambda x: np.sum(x * x * w), x)
    CHANGES[change](w if captured else x)
    with pytest.raises(MutatedCaptureError, match="changed in place"):
        pull(1.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_an_argument_of_medium_size_is_copied(dtype, monkeypatch):
    import funcgrad.transforms.guard as guard

    monkeypatch.setattr(guard, "checksum", lambda x: pytest.fail("read"))
    x = RNG.normal(size=SIZE).astype(dtype)
    want = 2 * x
    value, pull = fg.vjp(lambda x: np.sum(x * x), x)
    x[:] = 0.0
    np.testing.assert_array_equal(pull(value.dtype.type(1.0))[0], want)
    whole = RNG.normal(size=SIZE)
    given = whole.copy()
    value, slope = fg.value_and_grad(lambda x: np.sum(x * x))(given)
    assert value == np.sum(whole * whole) and np.array_equal(slope, 2 * whole)
    assert np.array_equal(given, whole) and not np.shares_memory(slope, given)


def test_a_large_workspace_refilled_in_a_loop_is_noticed():
    workspace = np.ones(SIZE)

    def f(x):
        s = 0.0
        for k in range(3):
            workspace[k] += 1.0
            s = s + np.sum(x * workspace)
        return s

    with pytest.raises(MutatedCaptureError):
        fg.grad(f)(np.ones(SIZE))


def test_a_large_array_is_read_once_however_often_it_is_used(monkeypatch):
    read = []
    import funcgrad.transforms.guard as guard

    monkeypatch.setattr(guard, "checksum", lambda x: (read.append(x.shape), checksum(x))[1])
    w = RNG.normal(size=(300, 300))

    def f(x):
        for _ in range(5):
            x = np.tanh(w @ x) + w.T @ x
        return np.sum(x)

    fg.grad(f)(np.ones(300))
    assert len(read) == 2  # when it is recorded, and before the backward pass


def test_an_array_that_nobody_can_write_into_is_not_read(monkeypatch):
    import funcgrad.transforms.guard as guard

    w = RNG.normal(size=SIZE)
    w.flags.writeable = False
    monkeypatch.setattr(guard, "checksum", lambda x: pytest.fail("read"))
    fg.grad(lambda x: np.sum(x * w[::1]))(1.0)
    view = RNG.normal(size=SIZE)
    locked = view[:]
    locked.flags.writeable = False
    monkeypatch.setattr(guard, "checksum", checksum)
    _, pull = fg.vjp(lambda x: np.sum(x * locked), 1.0)
    view[7] = 5.0
    with pytest.raises(MutatedCaptureError):
        pull(1.0)


COPIES = {
    "copy": lambda x: np.copy(x) * x,
    "array": lambda x: fnp.array(x) * x,
    "copy of a matrix": lambda x: np.sum(x.copy(), axis=-1) if x.ndim else x,
    "copy in C order": lambda x: np.sum(x.T.copy()),
    "ravel": lambda x: np.ravel(x) * np.ravel(x),
    "flatten": lambda x: x.flatten() * x.flatten(),
    "outer": lambda x: np.outer(x, x),
    "vdot": lambda x: np.vdot(x, x),
    "astype": lambda x: x.astype(x.dtype) * x,
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float64])
def test_a_copy_is_laid_out_as_numpys(name, dtype):
    f = COPIES[name]
    for layout in layouts().values():
        x = layout.astype(np.float64)
        x = (x * (1 - 0.7j)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)
        for y in (x[..., ::-1], x[::-1].T, x.ravel()[7::-1]) if x.ndim else (x,):
            got, want = fg.vjp(f, y)[0], f(y)
            assert got.dtype == want.dtype
            assert got.tobytes() == want.tobytes()
