"""What nodes show of the numbers of their operation: PyTorch's names and values.

Drawn from the calls of the other tests; every parameter that a node of ours shows is compared, and
every parameter of PyTorch's nodes that is no tensor must be there, but those of `ABSENT`.
"""

import random

import pytest

from . import test_indexing, test_pointwise, test_products, test_reductions, test_shaping
from .cases import Case, is_tensor, ours, run, theirs

# PyTorch counts what it computes with, ours what was asked for
UNLIKE = {
    "flip", "rot90", "triu", "diagflat", "scalar", "(1,0)", "gradient", "trapezoid", "diff", "cov",
    "quantile", "empty", "((),)", "einsum", "ones", "swap", "**", "xlogy", "clamp-tensor",
    "svd-square", "solve-right",
}  # fmt: skip
ABSENT = {"_saved_self_sym_strides", "_saved_mat1_sym_strides", "_saved_mat2_sym_strides"}


def all_cases():
    found = {}
    for module in (test_indexing, test_pointwise, test_products, test_reductions, test_shaping):
        for function in vars(module).values():
            for mark in getattr(function, "pytestmark", ()):
                if mark.name == "parametrize" and mark.args[0] == "case":
                    found |= {c.name: c for c in mark.args[1] if isinstance(c, Case)}
    return [c for name, c in sorted(found.items()) if not any(u in name for u in UNLIKE)]


def plain(x):
    """Whether a saved attribute is no tensor, and holds none."""
    if isinstance(x, tuple):
        return all(map(plain, x))
    return x is not None and not is_tensor(x)


def from_the_front(x, rank):
    """PyTorch shows negative dimensions as unsigned numbers."""
    if isinstance(x, tuple):
        return tuple(from_the_front(i, rank) for i in x)
    return x - 2**64 + rank if type(x) is int and x >= 2**63 else x


def attributes(node):
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                yield name, getattr(node, name)
            except (RuntimeError, AttributeError) as error:
                yield name, error


def pairs(a, b):
    if a is None or b is None or a.name() != b.name():
        return
    yield a, b
    for (c, _), (d, _) in zip(a.next_functions, b.next_functions):
        yield from pairs(c, d)


@pytest.mark.parametrize("part", range(8))
def test_as_pytorch(part):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    drawn = random.Random(0).sample(all_cases(), 400)[part::8]
    wrong = []
    for case in drawn:
        (_, got), (_, want) = run(ours, case), run(theirs, case)
        if isinstance(want, Exception):
            continue
        for g, w in zip(got, want):
            if not is_tensor(w) or w.grad_fn is None:
                continue
            for a, b in pairs(g.grad_fn, w.grad_fn):
                mine = dict(attributes(a))
                rank = len(a.avals[0].shape) if a.avals else 0
                rank += b.name() in ("StackBackward0", "DiagEmbedBackward0", "UnsqueezeBackward0")
                for name, value in attributes(b):
                    if not plain(value) or name in ABSENT:
                        continue
                    value = from_the_front(value, rank)
                    if repr(mine.get(name)) != repr(value) and mine.get(name) != value:
                        wrong.append((case.name, b.name(), name, mine.get(name), value))
    assert not wrong, "\n".join(map(str, wrong))


def test_tensors_of_indices():
    torch = ours
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    node = x[:, torch.tensor([0, 2])].grad_fn
    assert node._saved_indices[0] is None
    assert node._saved_indices[1].tolist() == [0, 2]
    assert torch.gather(x, 0, torch.tensor([[1, 2]])).grad_fn._saved_index.tolist() == [[1, 2]]
    assert x.max(0, keepdim=True)[0].grad_fn._saved_indices.tolist() == [[2, 2, 2, 2]]
    assert x[x > 5].grad_fn.name() == "IndexBackward0"
    values = torch.linalg.eigh(torch.eye(2, requires_grad=True))[0]
    assert values.grad_fn._saved_eigenvalues.tolist() == [1.0, 1.0]
    y = x.sum(-1)
    y.sum().backward()
    assert y.grad_fn._saved_dim == (1,) and y.grad_fn._saved_self_sym_sizes == (3, 4)
