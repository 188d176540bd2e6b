"""Operations as records: one call, run by PyTorch and by the facade, and everything compared.

A `Case` is a function of the module ``torch`` and of some arrays. From it follow tests of the
values, dtypes and shapes, of the graph behind the results (names and ``next_functions`` all the way
down), of first and second gradients, of the memory that results share, and of what must not be
changed before a backward pass.
"""

import itertools
import math
import warnings
import zlib

import numpy as np
import pytest

import funcgrad.torch as ours

try:
    import torch as theirs
except ImportError:
    theirs = None

TOLERANCE = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5,
             "complex128": 1e-11}  # fmt: skip


class Case:
    """One call: ``function(torch, *tensors)`` of tensors of these arrays.

    `loose` multiplies the tolerance; `second` says whether second gradients are compared,
    `graph` whether the graphs are, `memory` whether sharing is, `saved` whether changes of operands
    and results before backward are.
    """

    def __init__(self, name, function, *arrays, loose=1.0, first=True, second=True, graph=True,
                 memory=True, saved=True):  # fmt: skip
        self.name, self.function, self.arrays = name, function, arrays
        self.loose, self.first, self.second, self.graph = loose, first, second, graph
        self.memory, self.saved = memory, saved

    def __repr__(self):
        return self.name

    def tolerance(self, dtype):
        """That of the least precise of the operands: both compute parts of the result in it."""
        kinds = [dtype.name, *(a.dtype.name for a in self.arrays if a.dtype.kind in "fc")]
        return max(TOLERANCE[k] for k in kinds) * self.loose


def seeded(shape, kind="f", low=-2.0, high=2.0, seed=0):
    """Random numbers of a shape and dtype; integers and booleans too."""
    source = np.random.default_rng(zlib.crc32(repr((tuple(shape), kind, seed)).encode()))
    dtype = np.dtype({"f": "float32", "d": "float64", "h": "float16", "c": "complex64",
                      "z": "complex128", "i": "int64", "s": "int32", "u": "uint8",
                      "b": "bool"}[kind])  # fmt: skip
    if dtype.kind in "iu":
        least = max(math.ceil(low), 0 if dtype.kind == "u" else -9)
        return np.asarray(source.integers(least, int(high) + 1, shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(source.random(shape) < 0.5)
    real = np.asarray(source.uniform(low, high, shape))
    if dtype.kind == "c":
        return np.asarray(real + 1j * source.uniform(low, high, shape)).astype(dtype)
    return np.asarray(real).astype(dtype)


def tensors(torch, arrays):
    """Leaves that require grad where they can."""
    made = []
    for array in arrays:
        array = np.asarray(array)
        t = torch.from_numpy(array if _noncontiguous(array) else np.array(array, order="K"))
        if array.dtype.kind in "fc":
            t.requires_grad_()
        made.append(t)
    return made


def _noncontiguous(array):
    return array.ndim > 0 and not (array.flags.c_contiguous or array.flags.f_contiguous)


def listed(result):
    """The results of a call as a flat list."""
    if isinstance(result, (tuple, list)):
        return list(itertools.chain.from_iterable(map(listed, result)))
    return [result]


def is_tensor(x):
    return isinstance(x, ours.Tensor) or (theirs is not None and isinstance(x, theirs.Tensor))


def array_of(x):
    """The array behind a tensor of either library."""
    if isinstance(x, ours.Tensor):
        return x.detach().numpy()
    return x.detach().resolve_conj().numpy(force=True)


def run(torch, case):
    """Operands and results; or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xs = tensors(torch, case.arrays)
        try:
            return xs, listed(case.function(torch, *xs))
        except Exception as error:
            return xs, error


def tree(node, depth=0):
    """All nodes behind a node, with the numbers of their outputs."""
    if node is None:
        return "-"
    name = node.name().removeprefix("torch::autograd::")
    if name == "AccumulateGrad":
        return "*"
    if depth > 40:
        return "…"
    below = ",".join(f"{tree(n, depth + 1)}{f':{k}' if k else ''}" for n, k in node.next_functions)
    return f"{name}({below})"


def close(got, want, case, what):
    """Equal to rounding, with NaN and infinities in the same places."""
    assert got.dtype == want.dtype, f"{what}: {got.dtype} is not {want.dtype}"
    assert got.shape == want.shape, f"{what}: {got.shape} is not {want.shape}"
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    tolerance = case.tolerance(want.dtype)
    finite = np.abs(want[np.isfinite(want)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(
        got, want, rtol=tolerance, atol=tolerance * scale, err_msg=what, equal_nan=True
    )


def cotangents(outputs):
    """Numbers for each result, the same for both libraries."""
    out = []
    for k, o in enumerate(outputs):
        kind = {"float16": "h", "float32": "f", "float64": "d", "complex64": "c",
                "complex128": "z"}[o.dtype.name]  # fmt: skip
        out.append(seeded(o.shape, kind, 0.5, 1.5, seed=7 + k))
    return out


def check(case):
    """Run a case with both libraries and compare all that it asks for."""
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    with np.errstate(all="ignore"):
        _check(case)


def _check(case):
    xs, got = run(ours, case)
    ys, want = run(theirs, case)
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"PyTorch refuses: {want}"
        assert str(got) == str(want) and type(got).__name__ == type(want).__name__, (
            f"\nours:    {type(got).__name__}: {got}\ntheirs:  {type(want).__name__}: {want}"
        )
        return
    if isinstance(got, Exception):
        raise got
    assert len(got) == len(want)
    for k, (g, w) in enumerate(zip(got, want)):
        if not is_tensor(w):
            assert g == w or g != g
            continue
        close(array_of(g), array_of(w), case, f"result {k}")
        assert g.requires_grad == w.requires_grad, f"result {k} requires grad: {w.requires_grad}"
        assert g.is_leaf == w.is_leaf, f"result {k} is a leaf: {w.is_leaf}"
        if case.graph:
            assert tree(g.grad_fn) == tree(w.grad_fn), (
                f"\nours:    {tree(g.grad_fn)}\ntheirs:  {tree(w.grad_fn)}"
            )
    if case.memory:
        _compare_memory(got, xs, want, ys)
    if case.first:
        _compare_gradients(case, got, xs, want, ys)


def _compare_memory(got, xs, want, ys):
    """Results lie in memory of their own, or in that of the same operand."""
    for k, (g, w) in enumerate(zip(got, want)):
        if not is_tensor(w) or not w.numel():
            continue
        for j, (x, y) in enumerate(zip(xs, ys)):
            if not y.numel():
                continue
            mine = np.shares_memory(array_of(g), array_of(x))
            storage = w.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
            assert mine == storage, f"result {k} shares memory with operand {j}: {storage}"
        assert g._is_view() == w._is_view(), f"result {k} is a view: {w._is_view()}"


def gradients(torch, outputs, xs, again):
    """First gradients; and those of a weighted sum of them, where asked for."""
    moving = [x for x in xs if x.requires_grad]
    used = [o for o in outputs if is_tensor(o) and o.requires_grad]
    if not moving or not used:
        return None, None
    cs = [torch.from_numpy(c) for c in cotangents([array_of(o) for o in used])]
    for c in cs:
        c.requires_grad_(again)
    first = torch.autograd.grad(used, moving, cs, create_graph=again, allow_unused=True)
    if not again:
        return first, None
    parts = [
        ((g * torch.from_numpy(seeded(g.shape, _letter(g), 0.5, 1.5, seed=20 + k))).sum())
        for k, g in enumerate(first)
        if g is not None and g.requires_grad
    ]
    if not parts:
        return first, None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    if total.is_complex():
        total = torch.view_as_real(total).sum()
    second = torch.autograd.grad(total, [*moving, *cs], allow_unused=True)
    return first, second


def _letter(g):
    return {"float16": "h", "float32": "f", "float64": "d", "complex64": "c", "complex128": "z"}[
        str(g.dtype).removeprefix("torch.")
    ]


def _compare_gradients(case, got, xs, want, ys):
    mine, theirs_ = _outcome(ours, got, xs, case), _outcome(theirs, want, ys, case)
    if isinstance(theirs_, Exception):
        assert isinstance(mine, Exception), f"PyTorch refuses backward: {theirs_}"
        assert type(mine).__name__ == type(theirs_).__name__ and str(mine) == str(theirs_)
        return
    if isinstance(mine, Exception):
        raise mine
    for order, (gs, ws) in enumerate(zip(mine, theirs_), 1):
        if ws is None or (order == 2 and gs is None):
            if order == 2 and ws is not None:
                for k, w in enumerate(ws):
                    if w is not None:
                        what = f"gradient {k} of order 2 is missing"
                        close(np.zeros_like(array_of(w)), array_of(w), case, what)
            continue
        assert gs is not None, f"no gradients of order {order}"
        for k, (g, w) in enumerate(zip(gs, ws)):
            what = f"gradient {k} of order {order}"
            if order == 1:
                assert (g is None) == (w is None), f"{what} is None: {w is None}"
            if w is None or g is None:  # of order 2 zeros may stand for None
                for present in (g, w):
                    if present is not None:
                        close(array_of(present), np.zeros_like(array_of(present)), case, what)
                continue
            close(array_of(g), array_of(w), case, what)


def _outcome(torch, outputs, xs, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return gradients(torch, outputs, xs, case.second)
        except Exception as error:
            return error


def check_changes(case):
    """What PyTorch lets one change before a backward pass may be changed here too.

    Every operand (a clone of it) and every result in turn is set to zero. Where PyTorch goes on,
    so do we; where it refuses, we refuse or give the gradient as if nothing had been changed.
    """
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    with np.errstate(all="ignore"):
        xs, results = run(theirs, case)
        if isinstance(results, Exception):
            return
        places = [("operand", k) for k in range(len(case.arrays))]
        places += [("result", k) for k in range(len(results))]
        _, expected = _after_change(ours, case, None, 0)
        for kind, k in places:
            found, gs = _after_change(ours, case, kind, k)
            if found == "refused":
                refused, _ = _after_change(theirs, case, kind, k)
                assert refused == "refused", f"PyTorch lets {kind} {k} be changed"
            elif found == "passed":
                for g, e in zip(gs, expected):
                    if e is not None:
                        np.testing.assert_array_equal(array_of(g), array_of(e), f"{kind} {k}")


def _after_change(torch, case, kind, k):
    """What becomes of a backward pass after a change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xs = tensors(torch, case.arrays)
        clones = [x.clone() for x in xs]
        results = listed(case.function(torch, *clones))
        used = [r for r in results if is_tensor(r) and r.requires_grad]
        if not used:
            return None, None
        if kind is not None:
            target = (clones if kind == "operand" else results)[k]
            if not is_tensor(target) or target._is_view():
                return None, None
            with torch.no_grad():
                target.zero_()
        moving = [x for x in xs if x.requires_grad]
        cs = [torch.ones_like(u) for u in used]
        try:
            return "passed", torch.autograd.grad(used, moving, cs, allow_unused=True)
        except RuntimeError as error:
            if "modified by an inplace" in str(error):
                return "refused", None
            return "no derivative", None


def cases(*families):
    """Parametrize a test with cases."""
    found = list(itertools.chain.from_iterable(families))
    return pytest.mark.parametrize("case", found, ids=[c.name for c in found])
