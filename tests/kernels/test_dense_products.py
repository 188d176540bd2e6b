"""Native products of matrices: what NumPy gives, by shape, layout and dtype, in any threads."""

import functools

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import products

DTYPES = ("float32", "float64")


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """All sizes: products that are tiny, and several threads for each."""
    for name in ("LEAST", "EACH", "SHARED", "COPIED", "FEW", "NARROW", "THIN", "BROAD"):
        monkeypatch.setattr(products, name, 1)
    monkeypatch.setattr(products, "_plans", {})


@functools.cache
def numbers(seed, shape, dtype):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def laid(x, way):
    """An array equal to `x` that lies otherwise in memory."""
    if way == "turned":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "gaps":
        wide = np.full((*x.shape[:-1], x.shape[-1] + 3), np.nan, x.dtype)
        wide[..., : x.shape[-1]] = x
        return wide[..., : x.shape[-1]]
    if way == "between" and x.ndim == 4:
        return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    return x


def check(a, b, found, bias=0.0):
    """Each element is within the bound of a sum of so many terms, of their magnitudes."""
    wide = np.matmul(a.astype("f8"), b.astype("f8")) + bias
    terms = np.matmul(abs(a).astype("f8"), abs(b).astype("f8")) + abs(bias)
    bound = (a.shape[-1] + 2) * np.finfo(a.dtype).eps * terms
    assert found.shape == wide.shape and found.dtype == a.dtype
    assert (abs(found - wide) <= bound).all()


sizes = st.tuples(*(st.integers(1, 40),) * 2, st.integers(1, 150))
leads = st.sampled_from([(), (3,), (2, 3)])
ways = st.sampled_from(["plain", "turned", "gaps", "between"])


@settings(max_examples=examples(200), deadline=None)
@given(sizes, leads, ways, ways, st.sampled_from(DTYPES), st.booleans(), st.integers(0, 9))
def test_products_of_any_layout_are_numpys(size, lead, way_a, way_b, dtype, biased, seed):
    rows, terms, columns = size
    a = laid(numbers(seed, (*lead, rows, terms), dtype), way_a)
    b = laid(numbers(seed + 1, (*lead, terms, columns), dtype), way_b)
    bias = numbers(seed + 2, (columns,), dtype) if biased else None
    found = products.multiply(a, b, bias)
    assert found is not None
    check(a, b, found, 0.0 if bias is None else bias)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("terms", [256, 257, 700])
def test_many_terms_are_added_up_in_blocks_beside_the_sums_of_rows(dtype, terms):
    g, x = numbers(1, (terms, 150), dtype), numbers(2, (terms, 70), dtype)
    sums = np.full(150, np.nan, dtype)
    check(g.T, x, products.multiply(g.T, x, sums=sums))
    check(g.T, np.ones((terms, 1), dtype), sums[:, None])


@pytest.mark.parametrize("way", ["plain", "turned"])
def test_neither_threads_nor_pieces_change_a_bit(way, monkeypatch):
    a, b = laid(numbers(1, (150, 300), "float32"), way), numbers(2, (300, 130), "float32")
    found = []
    for count, chunks in ((1, 1), (4, 1), (4, 8), (2, 64)):
        monkeypatch.setattr(products, "CHUNKS", chunks)
        monkeypatch.setattr(products, "_plans", {})
        monkeypatch.setattr(fg.config, "threads", count)
        found.append(products.multiply(a, b).tobytes())
    assert len(set(found)) == 1


def test_results_are_written_between_other_numbers():
    whole = np.full((2, 20, 3, 16), 7, np.float32)
    a, b = numbers(1, (2, 3, 20, 30), "float32"), numbers(2, (2, 3, 30, 16), "float32")
    out = whole.swapaxes(1, 2)
    assert products.multiply(a, b, out=out) is out
    check(a, b, out)
    wide = np.full((20, 19), 7, np.float32)
    check(a[0, 0], b[0, 0], products.multiply(a[0, 0], b[0, 0], out=wide[:, :16]))
    assert (wide[:, 16:] == 7).all()


def test_what_is_not_finite_reaches_its_row_and_column_alone():
    a, b = numbers(1, (40, 30), "float64").copy(), numbers(2, (30, 50), "float64").copy()
    a[3, 4], b[5, 6] = np.nan, np.inf
    found, expected = products.multiply(a, b), a @ b
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


def test_operands_that_are_none_for_the_code_are_left_to_numpy():
    x = numbers(1, (20, 20), "float64")
    for y in (x, x.astype("f4")):  # what is known of them is not taken for others
        assert products.multiply(y, y) is not None
    assert products.multiply(x.astype("f4"), x) is None
    assert products.multiply(x.astype(int), x.astype(int)) is None
    assert products.multiply(x, x[0]) is None
    assert products.multiply(x[::2, ::2], x[:10]) is None
    assert products.multiply(x.astype(">f8"), x.astype(">f8")) is None
    assert products.multiply(x, x.astype(">f8")) is None
    assert products.multiply(x.astype("f4"), x.astype("i4")) is None
    assert products.multiply(x, np.broadcast_to(x, (3, 20, 20))) is None


class TestTensors:
    """Linear layers and products of tensors that are large enough, and what is NumPy's."""

    def results(self, rows, layout="plain"):
        """The operands and the cotangent of a layer, its result and its gradients."""
        x = laid(numbers(1, (rows, 64), "float64"), layout)
        w, b = numbers(2, (256, 64), "float64"), numbers(3, (256,), "float64")
        c = numbers(4, (rows, 256), "float64")
        tensors = [torch.from_numpy(v.copy("K")).requires_grad_() for v in (x, w, b)]
        y = torch.nn.functional.linear(*tensors)
        y.backward(torch.from_numpy(c))
        return (x, w, b, c), [v.detach().numpy() for v in (y, *(t.grad for t in tensors))]

    @pytest.mark.parametrize("layout", ["plain", "turned"])
    def test_a_linear_layer_and_its_gradients(self, layout):
        (x, w, b, c), (y, gx, gw, gb) = self.results(90, layout)
        check(x, w.T, y, b)
        check(c, w, gx)
        check(c.T, x, gw)
        check(c.T, np.ones((len(x), 1)), gb[:, None])

    def test_gradients_have_the_same_bits_at_every_call(self):
        found = {tuple(v.tobytes() for v in self.results(70)[1]) for _ in range(66)}
        assert len(found) == 1

    def test_a_tensor_that_is_recorded_or_not_has_the_same_bits(self):
        x, w, b = (torch.from_numpy(numbers(k, s, "float32").copy())
                   for k, s in enumerate(((90, 64), (256, 64), (256,))))  # fmt: skip
        plain = torch.nn.functional.linear(x, w, b)
        recorded = torch.nn.functional.linear(x, w.requires_grad_(), b)
        assert torch.equal(plain, recorded)
        assert torch.equal(plain, torch.addmm(b, x, w.t()))

    def test_second_derivatives_of_large_products(self):
        x, w = numbers(1, (90, 64), "float64"), numbers(2, (64, 256), "float64")
        a, b = (torch.from_numpy(v.copy()).requires_grad_() for v in (x, w))
        (g,) = torch.autograd.grad((a @ b).square().sum(), a, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), b)
        one = np.ones((90, 64))
        expected = 2 * (x.T @ (one @ w) + one.T @ (x @ w))
        np.testing.assert_allclose(h.numpy(), expected, rtol=1e-12, atol=1e-10)
