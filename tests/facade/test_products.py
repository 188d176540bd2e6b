"""Products and linear algebra: values, graphs and gradients against PyTorch."""

import numpy as np

from .cases import Case, cases, check, check_changes, seeded

V, W = seeded((3,)), seeded((3,), seed=1)
A, B = seeded((2, 3)), seeded((3, 4))
BATCH, MORE_BATCH = seeded((2, 2, 3)), seeded((2, 3, 4))
S, R = seeded((3, 3)), seeded((3, 3), seed=1)
I = seeded((2, 3), "i")
Z = seeded((3,), "c")
ZM = seeded((3, 3), "c")
SCALAR = np.float32(1.5)


def regular(*lead, kind="d"):
    return (seeded((*lead, 3, 3), kind) + 4 * np.eye(3)).astype(seeded((1,), kind).dtype)


def definite(*lead, kind="d"):
    a = seeded((*lead, 3, 3), kind)
    made = a @ np.swapaxes(a, -1, -2).conj() + np.diag([1, 2, 3])
    return made.astype(a.dtype)


def call(name, *args, **kwargs):
    return lambda torch, *xs: getattr(torch, name)(*xs, *args, **kwargs)


def linalg(name, *args, **kwargs):
    return lambda torch, *xs: getattr(torch.linalg, name)(*xs, *args, **kwargs)


SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 2, 3), (2, 3, 4)),
    ((2, 2, 3), (3, 4)), ((2, 3), (2, 3, 4)), ((2, 2, 3), (3,)), ((3,), (2, 3, 4)),
    ((2, 2, 3), (1, 3, 4)), ((1, 2, 3), (2, 3, 4)), ((2, 1, 2, 3), (2, 3, 4)),
    ((2, 1, 2, 3), (3,)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((0,), (0,)), ((2, 2, 3), (2, 4, 3)),
    ((2, 3), (2, 3)), ((3,), (2,)), ((2, 3), (2,)), ((), (3,)), ((3,), ()), ((2,), (3, 4)),
    ((2, 2, 3), (3, 3, 4)), ((1, 3), (3, 1)), ((2, 2, 2, 3), (2, 2, 3, 1)),
]  # fmt: skip


def matmul_cases():
    for a, b in SHAPES:
        label = f"{a}@{b}".replace(" ", "")
        second = 0 not in (*a, *b)
        yield Case(label, lambda t, x, y: x @ y, seeded(a), seeded(b, seed=1), loose=4,
                   second=second)  # fmt: skip
    for kind in "dcz":
        yield Case(f"matmul-{kind}", call("matmul"), seeded((2, 3), kind), seeded((3, 4), kind))
        yield Case(f"matmul-batch-{kind}", call("matmul"), seeded((2, 2, 3), kind),
                   seeded((2, 3, 4), kind))  # fmt: skip
    yield Case("matmul-int", call("matmul"), I, I.T.copy())
    yield Case("matmul-mixed", call("matmul"), A, B.astype(float))
    yield Case("matmul-transposed", lambda t, x, y: x @ y.t(), A, B.T)
    yield Case("matmul-number", lambda t, x: t.matmul(x, 2), A)
    yield Case("matmul-bool", call("matmul"), I > 0, (I > 0).T.copy())
    yield Case("matmul-detached", lambda t, x, y: x @ y.detach(), BATCH, B)
    yield Case("matmul-detached-2", lambda t, x, y: x.detach() @ y, A, MORE_BATCH)
    yield Case("matmul-twice", lambda t, x: x @ x, S)


PRODUCTS = [
    Case("mm", call("mm"), A, B), Case("mm-shapes", call("mm"), A, A), Case("mm-1d", call("mm"), V,
                                                                           B),
    Case("mv", call("mv"), A, V), Case("mv-shapes", call("mv"), A, V[:2]),
    Case("mv-2d", call("mv"), A, A), Case("bmm", call("bmm"), BATCH, MORE_BATCH),
    Case("bmm-shapes", call("bmm"), BATCH, BATCH), Case("bmm-2d", call("bmm"), A, A),
    Case("dot", call("dot"), V, W), Case("dot-2d", call("dot"), V, A),
    Case("dot-size", call("dot"), V, W[:2]), Case("dot-mixed", call("dot"), V, W.astype(float)),
    Case("dot-complex", call("dot"), Z, seeded((3,), "c", seed=1)),
    Case("vdot", call("vdot"), V, W), Case("vdot-complex", call("vdot"), Z,
                                           seeded((3,), "c", seed=1)),
    Case("inner", call("inner"), V, W), Case("inner-2d", call("inner"), A, A + 1),
    Case("inner-mixed-rank", call("inner"), A, V), Case("inner-scalar", call("inner"), V, SCALAR),
    Case("inner-3d", call("inner"), BATCH, A), Case("inner-shapes", call("inner"), A, S[:, :2]),
    Case("outer", call("outer"), V, W), Case("ger", call("ger"), V, W),
    Case("outer-2d", call("outer"), A, V), Case("outer-mixed", call("outer"), V, W.astype(float)),
    Case("addmm", call("addmm"), seeded((2, 4)), A, B),
    Case("addmm-row", call("addmm"), seeded((4,)), A, B),
    Case("addmm-scaled", call("addmm", beta=2, alpha=3), seeded((2, 4)), A, B),
    Case("addmm-zero", call("addmm", beta=0), seeded((2, 4)), A, B, first=False),
    Case("addmm-shapes", call("addmm"), V, A, B), Case("addmm-inner", call("addmm"), V, A, A),
    Case("addmm-mixed", call("addmm"), seeded((2, 4)), A, B.astype(float)),
    Case("addmv", call("addmv"), seeded((2,)), A, V),
    Case("addmv-scaled", call("addmv", beta=0.5, alpha=2), SCALAR, A, V),
    Case("addr", call("addr"), S, V, W), Case("addr-scaled", call("addr", alpha=2), S, V, W),
    Case("baddbmm", call("baddbmm"), seeded((2, 2, 4)), BATCH, MORE_BATCH),
    Case("baddbmm-broadcast", call("baddbmm", beta=2), seeded((4,)), BATCH, MORE_BATCH),
    Case("addbmm", call("addbmm"), seeded((2, 4)), BATCH, MORE_BATCH),
    Case("tensordot-1", call("tensordot", 1), A, B), Case("tensordot-2", call("tensordot", 2), A,
                                                          A + 1),
    Case("tensordot-0", call("tensordot", 0), V, W),
    Case("tensordot-lists", call("tensordot", ([0], [0])), A, A + 1),
    Case("tensordot-two", call("tensordot", ([1, 0], [1, 0])), A, A + 1, graph=False),
    Case("tensordot-3d", call("tensordot", ([2], [1])), BATCH, MORE_BATCH),
    Case("tensordot-shapes", call("tensordot", 1), A, A),
    Case("tensordot-many", call("tensordot", 5), A, A),
    # PyTorch forgets to refuse operands of kron that were changed: its gradient is wrong then.
    Case("kron", call("kron"), A, S, saved=False),
    Case("kron-ranks", call("kron"), V, A, saved=False),
    Case("kron-vectors", call("kron"), V, W, saved=False),
    Case("cross", call("cross"), V, W), Case("cross-rows", call("cross"), A, A + 1),
    Case("cross-columns", call("cross", 0), seeded((3, 2)), seeded((3, 2), seed=1)),
    Case("cross-default", call("cross"), seeded((3, 2)), seeded((3, 2), seed=1)),
    Case("linalg.cross", linalg("cross"), A, V[None]),
    Case("linalg.cross-size", linalg("cross"), seeded((2,)), seeded((2,))),
    Case("linalg.vecdot", linalg("vecdot"), A, A + 1),
    Case("linalg.vecdot-complex", linalg("vecdot"), Z, seeded((3,), "c", seed=1)),
    Case("chain_matmul", call("chain_matmul"), A, B, seeded((4, 2))),
    Case("multi_dot", lambda t, *xs: t.linalg.multi_dot(list(xs)), A, B, seeded((4, 2))),
    Case("multi_dot-vectors", lambda t, *xs: t.linalg.multi_dot(list(xs)), V, B, seeded((4,)),
         graph=False),
    Case("multi_dot-one", lambda t, x: t.linalg.multi_dot([x]), A),
    *(Case(f"matrix_power-{n}", call("matrix_power", n), regular(kind="f"), loose=20,
           graph=n != 0, second=n != 0)
      for n in (0, 1, 2, 3, 5, -1, -2)),
    Case("matrix_power-shape", call("matrix_power", 2), A),
]  # fmt: skip

EQUATIONS = [
    ("ij,jk->ik", A, B), ("ij,jk", A, B), ("ij->ji", A), ("ij->", A), ("ij", A), ("ii->i", S),
    ("ii", S), ("i,j->ij", V, W), ("i,i->", V, W), ("i,i->i", V, W), ("ij,ij->i", A, A + 1),
    ("bij,bjk->bik", BATCH, MORE_BATCH), ("bij,jk->bik", BATCH, B), ("...ij->...ji", BATCH),
    ("...ij,...jk->...ik", BATCH, MORE_BATCH), ("...j,j", BATCH, V), ("ij,jk,kl->il", A, B,
                                                                     seeded((4, 2))),
    ("ij,ik,il->jkl", A, A + 1, A + 2), ("ijk->kij", MORE_BATCH), ("ijk->k", MORE_BATCH),
    ("iij->j", seeded((3, 3, 2))), ("ij,kj->ik", A, A + 1), ("ab,cd->acbd", A, A + 1),
    ("i j , j k -> i k", A, B), ("ij,j->i", A, V), (",ij->ij", SCALAR, A), ("ij,jk->", A, B),
    ("bhid,bhjd->bhij", seeded((2, 2, 3, 4)), seeded((2, 2, 3, 4), seed=1)), ("Ij,jK->IK", A, B),
    ("...,...->...", A, A + 1), ("ij,jk", A, A), ("ij,jk->iz", A, B), ("ij", V), ("ij,jk", A),
    ("ij,jk->ii", A, B), ("ij,jk->ik", A, B.astype(float)), ("ii", A),
]  # fmt: skip


def einsum_cases():
    for equation, *arrays in EQUATIONS:
        label = f"einsum-{equation}".replace(" ", "_") + f"-{len(arrays)}{arrays[-1].shape}"
        yield Case(label.replace(" ", ""), lambda t, *xs, e=equation: t.einsum(e, *xs), *arrays,
                   loose=4, graph=len(arrays) < 3)  # fmt: skip
    yield Case("einsum-lists", lambda t, x, y: t.einsum(x, [0, 1], y, [1, 2], [0, 2]), A, B)
    yield Case("einsum-list-operands", lambda t, x, y: t.einsum("ij,jk", [x, y]), A, B)
    yield Case("einsum-complex", lambda t, x, y: t.einsum("ij,jk", x, y), ZM, ZM.T.copy())


LINEAR_ALGEBRA = [
    *(Case(f"inv-{k}", linalg("inv"), regular(kind=k), loose=10) for k in "fdz"),
    Case("inv-batch", linalg("inv"), regular(2), loose=10),
    Case("inverse", call("inverse"), regular(), loose=10),
    Case("inv-shape", linalg("inv"), A), Case("inv-vector", linalg("inv"), V),
    Case("inv-int", linalg("inv"), np.eye(2, dtype=int)),
    Case("inv-half", linalg("inv"), np.eye(2, dtype=np.float16)),
    Case("inv-singular", linalg("inv"), np.zeros((2, 2))),
    Case("inv-singular-2", linalg("inv"), np.array([[1.0, 2], [2, 4]])),
    Case("inv-singular-batch", linalg("inv"), np.stack([np.eye(2), np.zeros((2, 2))])),
    *(Case(f"det-{k}", linalg("det"), regular(kind=k), loose=20) for k in "fdz"),
    Case("det-batch", call("det"), regular(2), loose=20), Case("det-shape", linalg("det"), A),
    Case("det-singular", linalg("det"), np.array([[1.0, 2], [2, 4]]), first=False),
    Case("slogdet", linalg("slogdet"), regular(), loose=10),
    Case("slogdet-function", call("slogdet"), regular(kind="f"), loose=10),
    Case("slogdet-complex", linalg("slogdet"), regular(kind="z"), loose=10),
    Case("logdet", call("logdet"), definite(), loose=10),
    Case("logdet-negative", call("logdet"), -definite(), first=False),
    Case("solve", linalg("solve"), regular(), seeded((3, 2), "d"), loose=10),
    Case("solve-vector", linalg("solve"), regular(), seeded((3,), "d"), loose=10),
    Case("solve-batch", linalg("solve"), regular(2), seeded((2, 3, 2), "d"), loose=10),
    Case("solve-batch-vector", linalg("solve"), regular(2), seeded((2, 3), "d"), loose=10),
    Case("solve-broadcast", linalg("solve"), regular(2), seeded((3, 2), "d"), loose=10),
    Case("solve-right", linalg("solve", left=False), regular(), seeded((2, 3), "d"), loose=10),
    Case("solve-complex", linalg("solve"), regular(kind="z"), seeded((3, 2), "z"), loose=10),
    Case("solve-shapes", linalg("solve"), regular(), seeded((4,), "d")),
    Case("solve-mixed", linalg("solve"), regular(), seeded((3,))),
    Case("solve-singular", linalg("solve"), np.zeros((2, 2)), np.ones(2)),
    Case("solve_triangular", linalg("solve_triangular", upper=False), regular(),
         seeded((3, 2), "d"), loose=10),
    Case("solve_triangular-upper", linalg("solve_triangular", upper=True, unitriangular=True),
         regular(), seeded((3, 2), "d"), loose=10),
    Case("solve_triangular-right", linalg("solve_triangular", upper=True, left=False), regular(),
         seeded((2, 3), "d"), loose=10),
    Case("cholesky_solve", lambda t, b, f: t.cholesky_solve(b, f.tril()), seeded((3, 2), "d"),
         np.linalg.cholesky(definite()), loose=50),
    *(Case(f"cholesky-{k}", linalg("cholesky"), definite(kind=k), loose=20) for k in "fd"),
    Case("cholesky-z", lambda t, a: t.linalg.cholesky(a @ a.mH), regular(kind="z"), loose=20,
         graph=False),
    Case("cholesky-upper", linalg("cholesky", upper=True), definite(), loose=20),
    Case("cholesky-batch", linalg("cholesky"), definite(2), loose=20),
    Case("cholesky-function", call("cholesky"), definite(), loose=20),
    Case("cholesky-indefinite", linalg("cholesky"), -np.eye(2)),
    Case("cholesky-indefinite-2", linalg("cholesky"), np.array([[1.0, 2], [2, 1]])),
    Case("cholesky-shape", linalg("cholesky"), A),
    Case("eigvalsh", linalg("eigvalsh"), definite(), loose=20),
    Case("eigh-values", lambda t, a: t.linalg.eigh(a)[0], definite(), loose=20),
    Case("eigh-projector", lambda t, a: (lambda e: e[1] @ t.diag(e[0].exp()) @ e[1].mT)(
        t.linalg.eigh(a)), definite(), loose=1e4),
    Case("eigh-shape", linalg("eigh"), A), Case("eigh-half", linalg("eigh", "X"), S),
    Case("svdvals", linalg("svdvals"), seeded((2, 3), "d"), loose=20),
    Case("svd-values", lambda t, a: t.linalg.svd(a, full_matrices=False)[1],
         seeded((3, 2), "d"), loose=20),
    Case("svd-product", lambda t, a: (lambda f: f[0] @ t.diag(f[1] ** 2) @ f[2])(
        t.linalg.svd(a, full_matrices=False)), seeded((3, 2), "d"), loose=1e4),
    Case("svd-square", lambda t, a: t.linalg.svd(a)[1], regular(), loose=50),
    Case("svd-full-values", lambda t, a: t.linalg.svd(a.detach())[1], seeded((3, 2), "d")),
    Case("svd-full-shapes", lambda t, a: [f.shape for f in t.linalg.svd(a.detach())],
         seeded((3, 2), "d")),
    Case("torch.svd", lambda t, a: t.svd(a)[1], seeded((3, 2), "d"), loose=20),
    Case("svd-vector", linalg("svd"), V), Case("matrix_rank", linalg("matrix_rank"), S),
    Case("linalg.diagonal", linalg("diagonal"), BATCH),
    Case("linalg.matmul", linalg("matmul"), A, B),
]  # fmt: skip


@cases(matmul_cases())
def test_matmul(case):
    check(case)


@cases(PRODUCTS)
def test_products(case):
    check(case)


@cases(einsum_cases())
def test_einsum(case):
    check(case)


@cases(LINEAR_ALGEBRA)
def test_linear_algebra(case):
    check(case)


@cases(c for family in (matmul_cases(), PRODUCTS, einsum_cases(), LINEAR_ALGEBRA) for c in family
       if "singular" not in c.name and c.first and c.saved)  # fmt: skip
def test_what_may_be_changed_before_backward(case):
    check_changes(case)
