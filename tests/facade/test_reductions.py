"""Reductions, running ones, sorting: values, positions, graphs and gradients against PyTorch."""

import numpy as np
import pytest

from .cases import Case, cases, check, check_changes, ours, seeded, theirs

A = seeded((2, 3))
B = seeded((2, 3, 4))
D = seeded((2, 3), "d")
Z = seeded((2, 3), "c")
I = seeded((2, 3), "i", -5, 5)
BYTES = seeded((2, 3), "u", 0, 5)
MASK = seeded((2, 3), "b")
TIES = np.float32([[1, 3, 3], [2, 2, 2]])
GAPS = np.float32([[1, np.nan, 3], [np.nan, np.nan, 2]])
POSITIVE = seeded((2, 3), low=0.5, high=2)
EMPTY = np.zeros((0, 3), np.float32)
SCALAR = np.float32(1.5)
V = seeded((3,))
PLACES = np.float32([0.0, 0.7, 2.0])


def call(name, *args, **kwargs):
    return lambda torch, *xs: getattr(torch, name)(*xs, *args, **kwargs)


# name: (ways to call it, dtypes)
ALONG = [(), (0,), (1,), (-1,), (0, True)]
SEVERAL = [*ALONG, ((0, 1),), ((0,),), ((1, 0), True), ((),)]
FULL = {
    "sum": (SEVERAL, "fdhiubcz"), "mean": (SEVERAL, "fdcz"), "nansum": (SEVERAL, "fdi"),
    "nanmean": (SEVERAL, "fd"), "prod": (ALONG, "fdiubc"), "amax": (SEVERAL, "fdiub"),
    "amin": (SEVERAL, "fdi"), "max": (ALONG, "fdhiub"), "min": (ALONG, "fdi"),
    "argmax": (ALONG, "fdiu"), "argmin": (ALONG, "fi"), "all": (SEVERAL, "fiub"),
    "any": (SEVERAL, "fiub"), "count_nonzero": ([(), (0,), ((0, 1),)], "fib"),
    "median": (ALONG, "fdi"), "nanmedian": (ALONG, "fd"), "logsumexp": (SEVERAL[1:-1], "fdic"),
    "norm": ([()], "fdc"), "var": (ALONG[:4], "fdc"), "std": (ALONG[:4], "fdc"),
}  # fmt: skip


def full_cases():
    for name, (ways, kinds) in FULL.items():
        for kind in kinds:
            x = seeded((2, 3), kind, -2, 2)
            for args in ways if kind == kinds[0] else ways[:2]:
                label = f"{name}-{kind}-{args}".replace(" ", "")
                yield Case(label, call(name, *args), x, loose=4)
        args = ways[1] if len(ways) > 1 else ()
        for label, array in (("strided", seeded((4, 6))[::2, ::2]), ("transposed", A.T),
                             ("empty", EMPTY), ("scalar", SCALAR), ("ties", TIES)):  # fmt: skip
            second = label not in ("empty", "scalar")
            yield Case(f"{name}-{label}", call(name, *args), array, loose=4, second=second,
                       saved=False)  # fmt: skip
        yield Case(f"{name}-3d", call(name, *(ways[2] if len(ways) > 2 else ())), B, loose=4)


ONE_DIMENSION = {
    "cumsum": "fdibc", "cumprod": "fdic", "cummax": "fdi", "cummin": "fi", "logcumsumexp": "fd",
    "softmax": "fd", "log_softmax": "fd", "mode": "fi",
}  # fmt: skip


def line_cases():
    for name, kinds in ONE_DIMENSION.items():
        for kind in kinds:
            for dim in (0, 1, -1):
                yield Case(f"{name}-{kind}-{dim}", call(name, dim), seeded((2, 3), kind), loose=4)
        for label, array in (("empty", EMPTY), ("scalar", SCALAR), ("transposed", A.T)):
            yield Case(f"{name}-{label}", call(name, 0), array, loose=4)
        yield Case(f"{name}-3d", call(name, 1), B, loose=4)
        yield Case(f"{name}-ties", call(name, 1), TIES, loose=4)


def kth(k):
    return lambda torch, x: torch.kthvalue(x, k)


MORE = [
    Case("sum-dtype", lambda t, x: t.sum(x, dtype=t.float64), A),
    Case("sum-dtype-dim", lambda t, x: x.sum(0, dtype=t.float64), A),
    Case("sum-int-dtype", lambda t, x: x.sum(dtype=t.float32), I),
    Case("sum-axis", lambda t, x: x.sum(axis=0, keepdims=True), A),
    Case("sum-twice", lambda t, x: x.sum((0, 0)), A),
    Case("sum-beyond", lambda t, x: x.sum(2), A),
    Case("mean-dtype", lambda t, x: x.mean(dtype=t.float64), A),
    Case("mean-int", lambda t, x: x.mean(), I),
    Case("mean-int-dtype", lambda t, x: x.mean(dtype=t.float32), I),
    Case("mean-empty", lambda t, x: x.mean(), EMPTY),
    Case("prod-dtype", lambda t, x: x.prod(0, dtype=t.float64), A),
    Case("prod-zero", call("prod"), np.float32([2, 0, 3])),
    Case("prod-zeros", call("prod"), np.float32([2, 0, 0])),
    Case("prod-dim-zeros", call("prod", 1), np.float32([[2, 0, 3], [0, 0, 3]])),
    Case("prod-transposed-full", call("prod"), A.T),
    *(Case(f"{name}-{label}", lambda t, x, n=name, k=given: getattr(t, n)(x, **k), A, loose=4)
      for name in ("var", "std")
      for label, given in (
          ("correction", {"correction": 0}), ("two", {"dim": 1, "correction": 2}),
          ("unbiased", {"dim": 0, "unbiased": False}), ("keepdim", {"dim": 0, "keepdim": True}),
          ("all", {"unbiased": False}), ("dims", {"dim": (0, 1)}))),
    Case("var-flag", call("var", False), A, loose=4),
    Case("var-int", call("var"), I),
    Case("std-flat", call("std"), np.ones(3, np.float32), second=False),
    *(Case(f"{name}-{args}", call(name, *args), A, loose=4)
      for name in ("var_mean", "std_mean") for args in ((), (0,))),
    Case("var_mean-correction", lambda t, x: t.var_mean(x, 1, correction=0, keepdim=True), A,
         loose=4),
    Case("max-tie", call("max"), TIES),
    Case("min-tie", call("min"), TIES),
    Case("max-nan", call("max", 1), GAPS, second=False),
    Case("max-nan-all", call("max"), GAPS, second=False),
    Case("argmax-nan", call("argmax", 1), GAPS),
    Case("max-empty-dim", call("max", 0), EMPTY),
    Case("max-empty", call("max"), EMPTY),
    Case("max-rows-empty", call("max", 1), EMPTY),
    Case("max-other", lambda t, x, y: t.max(x, y), A, seeded((2, 3), seed=1)),
    Case("min-other", lambda t, x, y: x.min(y), A, seeded((2, 3), seed=1)),
    Case("max-dim-beyond", lambda t, x: x.max(5), A),
    Case("max-complex", lambda t, x: x.max(), Z),
    Case("amax-empty", call("amax", 0), EMPTY),
    Case("amax-empty-all", call("amax"), EMPTY),
    Case("argmax-empty", call("argmax"), EMPTY),
    Case("argmax-empty-dim", call("argmax", 0), EMPTY),
    Case("argmax-bool", call("argmax"), MASK),
    Case("argmax-keepdim", lambda t, x: x.argmax(keepdim=True), A),
    Case("argmax-tie", call("argmax", 1), TIES),
    Case("aminmax", lambda t, x: t.aminmax(x), A),
    Case("aminmax-dim", lambda t, x: t.aminmax(x, dim=1, keepdim=True), TIES),
    Case("aminmax-empty", lambda t, x: t.aminmax(x), EMPTY),
    Case("median-even", call("median"), np.float32([4, 1, 3, 2])),
    Case("median-even-dim", call("median", 0), np.float32([4, 1, 3, 2])),
    Case("median-tie", call("median"), np.float32([2, 2, 2, 1, 5]), second=False),
    Case("median-nan", call("median"), GAPS, second=False),
    Case("median-nan-dim", call("median", 1), GAPS[:1], second=False),
    Case("nanmedian-nan", call("nanmedian"), GAPS, second=False),
    Case("nanmedian-nan-dim", call("nanmedian", 1), GAPS, second=False),
    Case("median-empty", call("median"), EMPTY, second=False),
    Case("median-empty-dim", call("median", 0), EMPTY),
    Case("nansum-nan", call("nansum", 1), GAPS),
    Case("nanmean-nan", call("nanmean", 1), GAPS, second=False),
    Case("nanmean-int", call("nanmean"), I),
    Case("all-byte", call("all"), BYTES),
    Case("any-empty", call("any", 0), EMPTY),
    Case("logsumexp-infinite", call("logsumexp", 1), np.float32([[-np.inf, 1], [5, 6]]),
         second=False),
    Case("logsumexp-large", call("logsumexp", 0), np.float32([1e4, 1e4 - 1])),
    Case("softmax-dtype", lambda t, x: x.softmax(0, dtype=t.float64), A),
    Case("softmax-int", lambda t, x: x.softmax(0), I),
    Case("softmax-first", lambda t, x: x.softmax(0), I.astype(bool)),
    Case("softmax-beyond", lambda t, x: x.softmax(3), A),
    Case("softmax-large", call("softmax", 0), np.float32([1e4, 0, -1e4])),
    Case("log_softmax-large", call("log_softmax", 0), np.float32([1e4, 0, -1e4])),
    Case("log_softmax-int", lambda t, x: x.log_softmax(1), I),
    Case("cumsum-dtype", lambda t, x: x.cumsum(0, dtype=t.float64), A),
    Case("cumsum-int", lambda t, x: x.cumsum(1), I),
    Case("cumsum-nodim", lambda t, x: x.cumsum(4), A),
    Case("cumprod-zero", call("cumprod", 0), np.float32([2, 0, 3, 0, 4])),
    Case("cummax-nan", call("cummax", 0), np.float32([1, np.nan, 3]), second=False),
    Case("cummin-tie", call("cummin", 0), np.float32([3, 1, 1, 2])),
    Case("logcumsumexp-large", call("logcumsumexp", 0), np.float32([1e3, -1e3, 1e3, 2]),
         loose=20),
    Case("diff", lambda t, x: x.diff(), A),
    Case("diff-two", lambda t, x: t.diff(x, n=2, dim=1), A),
    Case("diff-prepend", lambda t, x, y: t.diff(x, prepend=y), A, seeded((2, 1))),
    Case("diff-both", lambda t, x, y: t.diff(x, prepend=y, append=y), A, seeded((2, 2))),
    Case("diff-bool", lambda t, x: t.diff(x), MASK),
    Case("diff-scalar", lambda t, x: t.diff(x), SCALAR),
    Case("diff-more", lambda t, x: t.diff(x, n=5), A),
    Case("trapezoid", lambda t, y: t.trapezoid(y), A),
    Case("trapezoid-dx", lambda t, y: t.trapezoid(y, dx=0.5, dim=0), A),
    Case("trapezoid-x", lambda t, y, x: t.trapezoid(y, x), A, A[0]),
    Case("trapezoid-xs", lambda t, y, x: t.trapezoid(y, x), A, seeded((2, 3), seed=3)),
    Case("cumulative_trapezoid", lambda t, y: t.cumulative_trapezoid(y), A),
    Case("cumulative_trapezoid-x", lambda t, y, x: t.cumulative_trapezoid(y, x), A, A[0]),
    Case("gradient", lambda t, x: t.gradient(x), A),
    Case("gradient-spacing", lambda t, x: t.gradient(x, spacing=2.0, dim=1), A),
    Case("gradient-spacings", lambda t, x: t.gradient(x, spacing=[2.0, 0.5]), A),
    Case("gradient-second", lambda t, x: t.gradient(x, edge_order=2, dim=1), seeded((2, 5))),
    Case("gradient-places", lambda t, x, p: t.gradient(x, spacing=(p,), dim=1), A, PLACES),
    Case("gradient-places-second",
         lambda t, x, p: t.gradient(x, spacing=(p,), dim=(1,), edge_order=2), A, PLACES,
         loose=10),
    Case("gradient-int", lambda t, x: t.gradient(x), np.arange(6).reshape(2, 3) ** 2),
    Case("gradient-scalar", lambda t, x: t.gradient(x), SCALAR),
    Case("gradient-few", lambda t, x: t.gradient(x, edge_order=2), A),
    Case("gradient-order", lambda t, x: t.gradient(x, edge_order=3), A),
    Case("gradient-spacing-count", lambda t, x: t.gradient(x, spacing=[1.0]), A),
    Case("gradient-spacing-dims", lambda t, x: t.gradient(x, spacing=[1.0, 2.0], dim=0), A),
    Case("gradient-spacing-rank", lambda t, x, p: t.gradient(x, spacing=[p, p]), A, A),
    Case("cov", call("cov"), A), Case("cov-vector", call("cov"), V),
    Case("cov-correction", lambda t, x: t.cov(x, correction=0), A),
    Case("cov-times", lambda t, x, w: t.cov(x, fweights=w), A, np.array([1, 2, 3])),
    Case("cov-weights", lambda t, x, w: t.cov(x, aweights=w), A, POSITIVE[0]),
    Case("cov-both", lambda t, x, n, w: t.cov(x, fweights=n, aweights=w), A, np.array([1, 2, 3]),
         POSITIVE[0]),
    Case("cov-complex", call("cov"), Z), Case("cov-int", call("cov"), I),
    Case("cov-one", call("cov"), V[:1], second=False),
    Case("cov-cube", call("cov"), seeded((2, 2, 2))),
    Case("cov-bool", call("cov"), MASK),
    Case("cov-float-times", lambda t, x, w: t.cov(x, fweights=w), A, V),
    Case("cov-int-weights", lambda t, x, w: t.cov(x, aweights=w), A, np.array([1, 2, 3])),
    Case("cov-negative", lambda t, x, w: t.cov(x, fweights=w), A, np.array([1, 2, -3])),
    Case("cov-count", lambda t, x, w: t.cov(x, fweights=w), A, np.array([1, 2])),
    Case("cov-rank", lambda t, x, w: t.cov(x, fweights=w), A, np.array([[1, 2, 3]])),
    Case("corrcoef", call("corrcoef"), A, loose=10), Case("corrcoef-vector", call("corrcoef"), V),
    Case("corrcoef-cube", call("corrcoef"), seeded((2, 2, 2))),
    Case("sum_to_size", lambda t, x: x.sum_to_size(1, 3), A),
    Case("sum_to_size-same", lambda t, x: x.sum_to_size((2, 3)) * 1, A),
    Case("sum_to_size-rank", lambda t, x: x.sum_to_size(2, 1), seeded((2, 2, 3))),
    Case("sum_to_size-bad", lambda t, x: x.sum_to_size(3, 2), A),
    *(Case(f"{name}-{given}", lambda t, x, n=name, k=given: getattr(x, n)(**k), A)
      for name in ("sort", "argsort")
      for given in ({}, {"dim": 0}, {"descending": True}, {"stable": True},
                    {"dim": 0, "descending": True, "stable": True})),
    Case("sort-tie", lambda t, x: x.sort(dim=1, stable=True), TIES),
    Case("sort-tie-descending", lambda t, x: x.sort(dim=1, descending=True, stable=True), TIES),
    Case("sort-nan", lambda t, x: x.sort(1), GAPS[:1], second=False),
    Case("sort-nan-descending", lambda t, x: x.sort(1, True), GAPS[:1], second=False),
    Case("sort-bool", lambda t, x: t.sort(x, stable=True), MASK),
    Case("sort-scalar", lambda t, x: x.sort(), SCALAR),
    Case("sort-empty", lambda t, x: x.sort(0), EMPTY),
    Case("msort", call("msort"), A),
    Case("topk", call("topk", 2), A),
    Case("topk-smallest", lambda t, x: x.topk(2, largest=False), A),
    Case("topk-dim", lambda t, x: x.topk(1, dim=0), A),
    Case("topk-beyond", call("topk", 5), A),
    Case("topk-nan", call("topk", 1), GAPS[:1], second=False),
    Case("topk-scalar", call("topk", 1), SCALAR),
    Case("kthvalue", kth(2), A),
    Case("kthvalue-keepdim", lambda t, x: x.kthvalue(1, 0, True), A),
    Case("kthvalue-beyond", kth(5), A),
    *(Case(f"quantile-{q}-{way}", lambda t, x, q=q, w=way: t.quantile(x, q, interpolation=w), A,
           graph=False)
      for q in (0.0, 0.3, 0.5, 1.0)
      for way in ("linear", "lower", "higher", "midpoint", "nearest")),
    Case("quantile-dim", lambda t, x: x.quantile(0.3, dim=0), A),
    Case("quantile-dim-keep", lambda t, x: x.quantile(0.3, 1, True), A),
    Case("quantile-keep", lambda t, x: x.quantile(0.3, keepdim=True), A),
    Case("quantile-several", lambda t, x, q: x.quantile(q.detach(), dim=1), B,
         np.float32([0.1, 0.6])),
    Case("quantile-several-keep", lambda t, x, q: x.quantile(q.detach(), keepdim=True), A,
         np.float32([0.1, 0.6])),
    Case("quantile-nan", lambda t, x: x.quantile(0.3, dim=1), GAPS, second=False),
    Case("nanquantile", lambda t, x: x.nanquantile(0.3, dim=1), GAPS, second=False),
    Case("quantile-range", lambda t, x: x.quantile(1.5), A),
    Case("quantile-int", lambda t, x: x.quantile(0.5), I),
    Case("quantile-dtype", lambda t, x, q: x.quantile(q), A, np.float64(0.5)),
    Case("quantile-empty", lambda t, x: x.quantile(0.5), EMPTY),
    Case("quantile-way", lambda t, x: x.quantile(0.5, interpolation="up"), A),
    *(Case(f"norm-{p}-{dim}-{keep}", lambda t, x, p=p, d=dim, k=keep: x.norm(p, d, k), A, loose=4,
           first=p != 0)
      for p in (1, 2, 3, 0.5, float("inf"), -float("inf"), 0, "fro", "nuc")
      for dim, keep in ((None, False), (0, False), (1, True), ((0, 1), False))
      if not (p == "nuc" and dim in (0, 1))),
    Case("norm-zero", call("norm"), np.zeros(3, np.float32), second=False),
    Case("norm-tie", lambda t, x: x.norm(float("inf")), TIES, second=False),
    Case("norm-int", call("norm"), I),
    Case("norm-order", lambda t, x: x.norm("max"), A),
    Case("norm-dtype", lambda t, x: x.norm(dtype=t.float64), A),
    Case("norm-complex", lambda t, x: x.norm(3), Z, loose=4),
    *(Case(f"linalg.norm-{o}-{d}", lambda t, x, o=o, d=d: t.linalg.norm(x, o, d), A, loose=10)
      for o, d in ((None, None), (1, None), (2, None), (-2, None), ("nuc", None), ("fro", None),
                   (float("inf"), None), (-1, None), (3, 0), (None, (0, 1)), (1, (1, 0)))),
    Case("linalg.norm-3d", lambda t, x: t.linalg.norm(x, 2), B),
    Case("linalg.norm-3d-dims", lambda t, x: t.linalg.norm(x, 2, (1, 2), True), B, loose=10),
    *(Case(f"vector_norm-{o}-{d}", lambda t, x, o=o, d=d: t.linalg.vector_norm(x, o, d), B,
           loose=10)
      for o, d in ((2, None), (3, None), (1, (0, 2)), (float("inf"), (1, 2)), (2, 1))),
    Case("matrix_norm", lambda t, x: t.linalg.matrix_norm(x), B, loose=4),
    Case("matrix_norm-vector", lambda t, x: t.linalg.matrix_norm(x), A[0]),
    Case("dist-3", lambda t, x, y: t.dist(x, y, 3), A, seeded((2, 3), seed=1), loose=4),
    Case("dist-inf", lambda t, x, y: t.dist(x, y, float("inf")), A, seeded((3,), seed=1)),
    Case("unique", lambda t, x: t.unique(x, return_inverse=True, return_counts=True), I),
    Case("unique-dim", lambda t, x: t.unique(x, dim=0, return_inverse=True, return_counts=True),
         np.array([[3, 1], [1, 2], [3, 1]])),
    Case("unique-float", lambda t, x: t.unique(x), TIES),
    Case("unique_consecutive",
         lambda t, x: t.unique_consecutive(x, return_inverse=True, return_counts=True),
         np.array([1, 1, 2, 2, 1])),
    Case("unique_consecutive-dim", lambda t, x: t.unique_consecutive(x, dim=0),
         np.array([[1, 2], [1, 2], [3, 4]])),
    Case("bincount", call("bincount"), np.array([1, 1, 3])),
    Case("bincount-weights", lambda t, x, w: t.bincount(x, w.detach(), minlength=6),
         np.array([1, 1, 3]), np.float32([1, 2, 3])),
    Case("bincount-negative", call("bincount"), np.array([-1])),
    Case("bincount-float", call("bincount"), np.float32([1])),
    Case("histc", lambda t, x: t.histc(x.detach(), bins=4, min=0, max=3), np.float32([1, 2, 1])),
    Case("histc-range", lambda t, x: t.histc(x.detach(), bins=4), np.float32([1, 2, 1])),
    Case("histogram", lambda t, x: t.histogram(x.detach(), 4), np.float32([1, 2, 1])),
    Case("searchsorted", lambda t, a, v: t.searchsorted(a, v), np.float32([1, 2, 3]),
         np.float32([[2, 2.5], [0, 9]])),
    Case("searchsorted-right", lambda t, a, v: t.searchsorted(a, v, right=True),
         np.float32([1, 2, 3]), np.float32([2, 2.5])),
    Case("searchsorted-number", lambda t, a: t.searchsorted(a, 2.5), np.float32([1, 2, 3])),
    Case("searchsorted-lines", lambda t, a, v: t.searchsorted(a, v),
         np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[2, 2.5], [5, 9]])),
    Case("bucketize", lambda t, v, a: t.bucketize(v, a), np.float32([2, 2.5]),
         np.float32([1, 2, 3])),
    Case("sum-keyword", lambda t, x: t.sum(input=x, dim=0), A),
    Case("max-keyword", lambda t, x: t.max(input=x, dim=0, keepdim=True), A),
]  # fmt: skip


@cases(full_cases(), line_cases(), MORE)
def test_reductions(case):
    check(case)


@cases(c for family in (full_cases(), line_cases(), MORE) for c in family
       if c.saved and not c.name.startswith("unique")
       and all(np.size(a) for a in c.arrays))  # fmt: skip
def test_what_must_not_be_changed_before_backward(case):
    check_changes(case)


SHOWN = [
    lambda t: t.tensor([[1.0, 2], [3, 0]]).max(0),
    lambda t: t.tensor([[1.0, 2], [3, 0]]).max(dim=1, keepdim=True),
    lambda t: t.tensor([3.0, 1, 2], requires_grad=True).sort(),
    lambda t: t.tensor([3.0, 1, 2]).topk(2),
    lambda t: t.tensor([3.0, 1, 2]).kthvalue(1),
    lambda t: t.tensor([3.0, 1, 2]).median(0),
    lambda t: t.tensor([3.0, 1, 2]).mode(),
    lambda t: t.tensor([3.0, 1, 2]).cummax(0),
    lambda t: t.aminmax(t.tensor([3.0, 1, 2])),
    lambda t: t.var_mean(t.tensor([1.0, 2])),
    lambda t: type(t.tensor([1.0]).max(0)),
    lambda t: isinstance(t.tensor([1.0]).max(0), tuple),
    lambda t: t.tensor([1.0, 3]).max(0).values,
    lambda t: t.tensor([1.0, 3]).max(0).indices,
    lambda t: t.tensor([1.0, 3]).max(0)[1],
]


@pytest.mark.parametrize("program", SHOWN)
def test_printed_results(program):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    assert repr(program(ours)) == repr(program(theirs))
