"""Operations of one result on operands of bfloat16: what PyTorch has, written once for both.

Each is text: `x`, `y`, `z` are 4 by 6, `p` positive and `u` in (0, 1), `s` square, `v` a vector,
`m` 6 by 5, `b` and `c` batches of matrices, `i` images, `w` for their convolution, `t` the library.
"""

UNARY = (
    "abs sin cos tan sinh cosh tanh exp exp2 expm1 sigmoid sign floor ceil round trunc frac neg "
    "square erf erfc deg2rad rad2deg asinh atan relu positive i0 nan_to_num isnan"
)
POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma"
WITHIN = "asin acos atanh erfinv"
BINARY = (
    "add sub mul div maximum minimum fmax fmin atan2 hypot remainder fmod logaddexp logaddexp2 "
    "copysign eq lt ge xlogy"
)
ACTIVATIONS = (
    "logsigmoid gelu silu elu selu celu softplus softsign hardtanh hardswish hardsigmoid "
    "leaky_relu mish relu6 tanhshrink softshrink hardshrink glu"
)
ONE_BY_ONE = """
    t.pow(p, x) | x**2 | x**3 | p**0.5 | 2.0**x | x + 0.1 | 1 - x | x * 0.3 | 1.0 / p | x - 0.1
    t.addcmul(x, y, p, value=0.5) | t.addcdiv(x, y, p, value=0.5) | t.lerp(x, y, 0.3)
    t.add(x, y, alpha=0.3) | t.acosh(p + 1) | x.remainder(0.1) | x == 0.1 | x.detach() // 0.3
    p**0.3
    x.sum() | x.sum(1) | x.sum(dtype=t.float32) | x.mean(0) | x.amax(1) | x.std(1) | x.var()
    t.logsumexp(x, 1) | x.norm() | x.norm(1, dim=1) | x.cumsum(1) | x.cumprod(1) | x.max(1).values
    x.min() | x.median(1).values | x.argmax(1) | x.sort(1).values | x.topk(3, 1).values
    x.kthvalue(2, 1).values | t.logcumsumexp(x, 1) | t.cummax(x, 1).values | t.nansum(x, 1)
    x.softmax(1) | x.log_softmax(1) | t.softmax(x, 1, dtype=t.float32) | x.flip(0) | x.roll(1, 0)
    x.diff() | t.cat([x, y]) | t.stack([x, y]) | t.cat([x, y.float()]) | t.where(x > 0, x, y)
    t.where(x > 0, x, 0.1) | x.clamp(-0.33, 0.5) | x.masked_fill(x > 0, 0.1) | x.tril() | t.diag(s)
    s.diagonal() | s.trace() | x.gather(1, t.tensor([[0, 1], [2, 2], [1, 1], [3, 0]]))
    x.index_select(1, t.tensor([0, 2, 1])) | x.take(t.tensor([0, 2, 1])) | x[[0, 1, 1]] | x[x > 0]
    x[1:, ::2] | x[1, 2] | x[1] | x.T | x.reshape(6, 4) | v.expand(3, 6) | x.repeat(2, 1)
    x.unbind(0)[1] | x.split(2)[0] | x.chunk(2, 1)[1] | x.unfold(1, 3, 1) | x.movedim(0, 1)
    x.scatter_add(1, t.zeros(4, 6, dtype=t.int64), y) | x.index_add(0, t.tensor([0, 1, 1, 2]), y)
    x.index_copy(0, t.tensor([3, 1, 0, 2]), y) | t.kron(v, v) | t.trapezoid(x)
    x @ m | x @ v | t.dot(v, v) | t.bmm(b, c) | t.addmm(v[:5], x, m) | t.outer(v, v)
    t.baddbmm(b[:, :, :3], b, c, beta=0.5, alpha=0.3) | t.einsum("ij,jk->ik", x, m)
    t.tensordot(x, m, 1) | t.linalg.matrix_power(s, 2) | t.block_diag(x, m) | t.cov(x)
    t.linalg.vector_norm(x, 3) | t.linalg.matrix_norm(x) | t.dist(x, y) | t.renorm(x, 2, 0, 1.0)
    F.linear(x, y, v[:4]) | F.conv2d(i, w, v[:4], padding=1) | F.conv1d(i[:, :, 0], w[:, :, 0])
    F.conv_transpose2d(i, w.transpose(0, 1)) | F.max_pool2d(i, 2) | F.avg_pool2d(i, 2)
    F.adaptive_avg_pool2d(i, 3) | F.adaptive_max_pool2d(i, 3)
    F.batch_norm(i, None, None, v[:3].float(), v[:3].float(), True) | F.layer_norm(x, (6,), v, v)
    F.group_norm(b, 2, v[:4], v[:4]) | F.rms_norm(x, (6,)) | F.normalize(x) | F.prelu(x, v[:1])
    F.gelu(x, approximate="tanh") | F.threshold(x, 0.1, 0.3) | F.mse_loss(x, y) | F.l1_loss(x, y)
    F.smooth_l1_loss(x, y) | F.huber_loss(x, y) | F.cross_entropy(x, t.tensor([0, 1, 2, 5]))
    F.cross_entropy(x, u) | F.nll_loss(x.log_softmax(1), t.tensor([0, 1, 2, 5]))
    F.binary_cross_entropy(u, u.detach().flip(0)) | F.cosine_similarity(x, y)
    F.binary_cross_entropy_with_logits(x, u.detach()) | F.pairwise_distance(x, y)
    F.kl_div(x, u.detach(), reduction="batchmean") | F.gaussian_nll_loss(x, y.detach(), p)
    F.triplet_margin_loss(x, y, z) | F.embedding(t.tensor([[0, 1], [1, 3]]), x)
    F.embedding_bag(t.tensor([[0, 1], [1, 3]]), x) | F.pad(x, (1, 2)) | F.unfold(i, 3)
    F.pad(i[0], (1, 2), mode="reflect") | F.interpolate(i, scale_factor=2, mode="bilinear")
    F.interpolate(i, scale_factor=2)
    x.float() * 1.1 | x.half() | x.double() | x + t.ones(6) | x * t.arange(6) | x.clone()
    x + t.ones(6, dtype=t.float16) | x * t.tensor(0.1) | x + t.tensor(0.1, dtype=t.float64)
    v.max(0).values | v.min(0).values | v.mode().values | v.kthvalue(2).values | v.median(0).values
    v.gather(0, t.tensor(1)) | v.take(t.tensor(1)) | v[t.tensor(1)] | v.nanmedian(0).values
    x * t.tensor(0.3, requires_grad=True) | t.tensor(0.3, requires_grad=True) - x
    x / t.tensor(0.3, requires_grad=True) | t.where(x > 0, x, t.tensor(0.1, requires_grad=True))
    x @ m + v.sum().float() * 2
    x.T.contiguous() | x.clone().mul_(0.3).add_(0.1) | x.clone().fill_(0.1)
    t.full_like(x, 0.1) + x
    t.linspace(0, 1, 6, dtype=t.bfloat16) * x | t.arange(0, 0.6, 0.1, dtype=t.bfloat16) * x
    t.unique(v.detach()) | t.searchsorted(v.detach().sort().values, v.detach()) | x.mean()
"""


def programs():
    """All of them, as text."""
    yield from (f"t.{n}(x)" for n in UNARY.split())
    yield from (f"t.{n}(p)" for n in POSITIVE.split())
    yield from (f"t.{n}(u)" for n in WITHIN.split())
    yield from (f"t.{n}(x, p)" for n in BINARY.split())
    yield from (f"F.{n}(x)" for n in ACTIVATIONS.split())
    for line in ONE_BY_ONE.strip().splitlines():
        yield from (text.strip() for text in line.split(" | "))
