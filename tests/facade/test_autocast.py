"""Autocasting on the CPU beside PyTorch: which dtype each operation computes in, and training."""

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

needs_torch = pytest.mark.skipif(theirs is None, reason="needs torch")
MATRICES = """
    F.linear(x, x) | t.mm(x, x) | x @ x | t.mv(x, x[0]) | t.dot(x[0], x[0])
    t.bmm(x[None], x[None])
    t.addmm(x, x, x) | t.baddbmm(x[None], x[None], x[None]) | t.addbmm(x, x[None], x[None])
    t.outer(x[0], x[0]) | t.einsum("ij,jk", x, x) | t.tensordot(x, x, 1) | t.inner(x, x)
    t.linalg.multi_dot([x, x]) | t.linalg.vecdot(x, x) | F.prelu(x, x[0, :1]) | x @ x[0]
    t.linalg.matrix_power(x, 3) | F.scaled_dot_product_attention(x[None], x[None], x[None])
    F.conv1d(x[None], x[:, :, None]) | F.conv_transpose1d(x[None], x[:, :, None]) | t.cov(x)
    F.conv2d(x[None, None], x[None, None, :2, :2]) | F.bilinear(x, x, x[None].expand(4, 4, 4))
"""
WIDE = """
    x.prod() | x.trace() | x.quantile(0.5) | x.nanquantile(0.5) | t.cdist(x, x) | t.polar(x, x)
    F.binary_cross_entropy(x.clamp(0.1, 0.9), x.clamp(0.1, 0.9)) | F.mse_loss(x, x + 1)
    F.binary_cross_entropy_with_logits(x, x) | F.l1_loss(x, x + 1) | F.smooth_l1_loss(x, x + 1)
    F.huber_loss(x, x + 1) | F.nll_loss(x, r) | F.cross_entropy(x, r) | F.kl_div(x, x)
    F.poisson_nll_loss(x, x) | F.hinge_embedding_loss(x, x) | F.soft_margin_loss(x, x)
    F.cosine_embedding_loss(x, x, t.ones(4)) | F.triplet_margin_loss(x, x, x + 1)
    F.multi_margin_loss(x, r) | F.ctc_loss(x[:, None], t.tensor([[1, 2]]), t.tensor([4]),
    t.linalg.inv(x) | t.linalg.cholesky(x) | t.linalg.solve(x, x) | t.linalg.svdvals(x)
    t.linalg.eigvalsh(x) | t.linalg.qr(x)[1].abs() | t.linalg.lstsq(x, x)[0] | t.linalg.cond(x)
    t.fft.fft(x) | t.fft.irfft(x) | t.view_as_complex(x.reshape(-1, 2)) | F.avg_pool3d(c, 2)
    F.adaptive_avg_pool3d(c, 2) | F.pad(x[None, None], (1, 1, 1, 1), mode="reflect")
    F.pad(x[None], (1, 1), mode="replicate") | F.pad(c, (1,) * 6, mode="replicate")
    F.max_pool3d(c, 2) | F.grid_sample(x[None, None], t.zeros(1, 2, 2, 2))
"""
OTHERS = """
    x.softmax(1) | x.exp() | x.sum() | x.mean() | x.norm() | F.layer_norm(x, (4,)) | F.gelu(x)
    x.cumsum(0) | x**2 | x.std() | F.cosine_similarity(x, x) | t.cat([x, x.float()])
    t.stack([x, x])
    x + x.float() | F.avg_pool2d(x[None], 2) | F.max_pool2d(x[None], 2) | F.pad(x, (1, 1))
    F.interpolate(x[None, None], scale_factor=2) | F.dropout(x, 0.0) | x.clone() | t.kron(x, x)
    x.double() @ x.double()
    F.gaussian_nll_loss(x, x, x) | t.addr(x, x[0], x[0])
"""


def expressions():
    for lines in (MATRICES, WIDE, OTHERS):
        for line in lines.strip().splitlines():
            for text in line.split(" | "):
                text = text.strip()
                yield f"{text} t.tensor([2]))" if text.endswith("([4]),") else text


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("text", list(expressions()))
def test_an_operation_computes_in_pytorchs_dtype(text, kind):
    rng = np.random.default_rng(0)
    base, image = rng.random((4, 4)), rng.random((1, 2, 6, 6, 6))
    found = []
    for torch in (theirs, ours):
        x = torch.tensor((base @ base.T + np.eye(4)).tolist()).to(getattr(torch, kind))
        c = torch.tensor(image.tolist()).to(getattr(torch, kind))
        names = {"t": torch, "F": torch.nn.functional, "x": x, "c": c}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = eval(text, {**names, "r": torch.tensor([0, 1, 2, 3])})
        found.append((str(y.dtype), np.array(y.abs().double().tolist())))
    (expected, values), (got, mine) = found
    assert got == expected
    np.testing.assert_allclose(mine, values, 2**-5, 2**-6 * np.abs(values).max())


def contexts(torch, say):
    x = torch.ones(2, 2)
    say(torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu"), (x @ x).dtype)
    with torch.autocast("cpu") as context:
        say(type(context).__name__, (x @ x).dtype, torch.is_autocast_enabled("cpu"))
        say(torch.get_autocast_dtype("cpu"))
        with torch.autocast("cpu", enabled=False):
            say((x @ x).dtype, torch.is_autocast_enabled("cpu"))
            with torch.autocast("cpu", dtype=torch.float16):
                say((x @ x).dtype, torch.get_autocast_dtype("cpu"))
        say((x.double() @ x.double()).dtype, torch.mm(x, x).dtype, (x @ x).exp().dtype)
        with torch.amp.autocast("cpu", dtype=torch.float64):
            say((x @ x).dtype)
        try:
            with torch.autocast("cpu", enabled=False):
                raise ValueError("left")
        except ValueError:
            say((x @ x).dtype)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def product(a, b):
        """Their product."""
        return a @ b

    say(product(x, x).dtype, product.__doc__, (x @ x).dtype, torch.get_autocast_dtype("cpu"))
    torch.set_autocast_enabled("cpu", True)
    say((x @ x).dtype, torch.is_autocast_cache_enabled())
    torch.set_autocast_enabled("cpu", False)
    out = torch.empty(2, 2)
    say(torch.mm(x, x, out=out).dtype, torch.get_autocast_dtype("cuda"))


def test_contexts_nest_and_decorate():
    same(contexts)


def gradients(torch, say):
    w = torch.tensor([[1.1, 2.2], [3.3, 4.4]], requires_grad=True)
    b = torch.tensor([0.5, 0.25], requires_grad=True)
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.nn.functional.linear(x, w, b)
        loss = (torch.nn.functional.linear(y.relu(), w) ** 2).mean()
        say(y.detach(), type(y.grad_fn).__name__, loss.dtype)
    loss.backward()
    say(w.grad.dtype, b.grad)


def test_gradients_of_weights_have_their_dtype():
    same(gradients)


def product_of(torch, say, kind):
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=kind)
        def forward(ctx, a, b):
            say("forward", a.dtype, torch.is_autocast_enabled("cpu"), (a @ b).dtype)
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            say("backward", g.dtype, a.dtype, torch.is_autocast_enabled("cpu"))
            return g @ b.T, a.T @ g

    return Product


def marked(torch, say):
    for enabled in (True, False):
        for kind in (None, torch.float32, torch.bfloat16):
            x = torch.ones(2, 2, requires_grad=True)
            with torch.autocast("cpu", enabled=enabled):
                y = product_of(torch, say, kind).apply(x, x)
            y.float().sum().backward()
            say(y.dtype, x.grad)


def test_custom_functions_know_the_autocasting_around_them():
    same(marked)


def trained(torch, cast):
    """The losses of a small network on the digits."""
    data = pytest.importorskip("sklearn.datasets").load_digits()
    x = torch.tensor((data.data[:512] / 16.0).tolist())
    y = torch.tensor(data.target[:512].tolist())
    rng = np.random.default_rng(0)
    layers = [torch.nn.Linear(64, 32), torch.nn.Linear(32, 10)]
    for layer in layers:
        with torch.no_grad():
            for p in layer.parameters():
                p.copy_(torch.tensor((rng.normal(size=tuple(p.shape)) * 0.2).tolist()))
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    losses = []
    for step in range(100):
        at = slice(step % 8 * 64, step % 8 * 64 + 64)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
            out = model(x[at])
            loss = torch.nn.functional.cross_entropy(out, y[at])
        assert (out.dtype is torch.bfloat16) == cast and loss.dtype is torch.float32
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return np.array(losses)


@needs_torch
@pytest.mark.peers
def test_the_digits_are_learned_in_bfloat16_as_pytorch_learns_them():
    expected, got, single = trained(theirs, True), trained(ours, True), trained(ours, False)
    assert got[-8:].mean() < 0.05 * got[0]
    # as near to PyTorch's curve as PyTorch's is to that in float32
    assert np.abs(got - expected).max() <= np.abs(expected - single).max() * 1.5
    np.testing.assert_allclose(got[:5], expected[:5], rtol=5e-3)


def test_the_cache_casts_a_weight_once():
    w = ours.ones(2, 2, requires_grad=True)
    with ours.autocast("cpu"):
        a, b = w @ ours.ones(2), w @ ours.ones(2)
    casts = [y.grad_fn.next_functions[0][0] for y in (a, b)]
    assert casts[0] is casts[1]
    with ours.autocast("cpu", cache_enabled=False):
        a, b = w @ ours.ones(2), w @ ours.ones(2)
    casts = [y.grad_fn.next_functions[0][0] for y in (a, b)]
    assert casts[0] is not casts[1]


def test_a_compiled_function_follows_the_autocasting_around_it():
    layer = ours.nn.Linear(3, 2)
    step = ours.compile(lambda x: layer(x))
    x = ours.ones(2, 3)
    for _ in range(2):
        with ours.autocast("cpu"):
            assert step(x).dtype is ours.bfloat16
        assert step(x).dtype is ours.float32


def test_a_compiled_function_and_the_cache_keep_their_casts_apart():
    layer = ours.nn.Linear(3, 2, bias=False)
    step, x = ours.compile(lambda x: layer(x)), ours.ones(2, 3)
    with ours.autocast("cpu"):
        before = layer(x)
        assert (step(x) == before).all() and (layer(x) == before).all()
    with ours.no_grad():
        layer.weight.mul_(2)
    with ours.autocast("cpu"):
        assert (step(x) == 2 * before).all() and (layer(x) == 2 * before).all()


def test_the_norm_of_gradients_is_compiled():
    layer = ours.nn.Linear(3, 2)

    @ours.compile
    def step(x):
        layer.zero_grad()
        (layer(x) ** 2).sum().backward()
        return ours.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a call that runs eagerly would say so
        assert step(ours.ones(4, 3)).item() > 0
