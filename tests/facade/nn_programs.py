"""Functions of `nn.functional` with the arguments on which both libraries are compared.

A case is a name, a function of (torch, F, tensors) and the arrays of the tensors; those of floats
are leaves that require grad unless they are named in `constants`.
"""

from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(0)
# kinks of all activations, ordinary numbers, and what overflows where a branch is not chosen
POINTS = np.array(
    [[0.0, -0.5, 0.5, 1.0, -1.0, 6.0, 3.0, -3.0], [0.1, 1.5, -1.5, 2.5, 19.0, 21.0, -25.0, 90.0]]
)
SMOOTH = np.array([[0.0, 0.3, -0.7, 1.2], [-2.5, 4.0, 8.5, -9.0]])


def normal(*shape):
    return RNG.normal(size=shape)


def positive(*shape):
    return RNG.uniform(0.1, 2.0, shape)


def probabilities(*shape):
    p = RNG.uniform(0.1, 1.0, shape)
    return p / p.sum(1, keepdims=True)


class Case(NamedTuple):
    name: str
    function: Any
    arrays: tuple[Any, ...]
    constants: tuple[int, ...] = ()
    twice: bool = True  # whether second derivatives are compared
    rtol: float = 0.0  # where PyTorch's formula is an approximation


CASES: list[Case] = []


def case(name, function, *arrays, constants=(), twice=True, rtol=0.0):
    CASES.append(Case(name, function, arrays, constants, twice, rtol))


# -- activations
for _name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "hardtanh", "hardswish",
              "hardshrink", "softshrink", "tanhshrink", "softsign"):  # fmt: skip
    case(_name, lambda torch, F, x, n=_name: getattr(F, n)(x), POINTS)
for _name in ("silu", "mish", "gelu", "softplus", "logsigmoid", "sigmoid", "tanh"):
    case(_name, lambda torch, F, x, n=_name: getattr(F, n)(x), SMOOTH)
case("hardsigmoid", lambda torch, F, x: F.hardsigmoid(x), POINTS, twice=False, rtol=1e-7)
case("leaky_relu-slope", lambda torch, F, x: F.leaky_relu(x, 0.3), POINTS)
case("elu-alpha", lambda torch, F, x: F.elu(x, 0.5), POINTS)
case("celu-alpha", lambda torch, F, x: F.celu(x, 0.5), POINTS)
case("hardtanh-bounds", lambda torch, F, x: F.hardtanh(x, -0.5, 0.5), POINTS)
case("gelu-tanh", lambda torch, F, x: F.gelu(x, approximate="tanh"), SMOOTH)
case("softplus-beta", lambda torch, F, x: F.softplus(x, 2.0, 3.0), SMOOTH)
case("threshold", lambda torch, F, x: F.threshold(x, 0.5, -2.0), POINTS)
case("glu", lambda torch, F, x: F.glu(x), SMOOTH)
case("glu-dim", lambda torch, F, x: F.glu(x, 0), SMOOTH)
case("prelu-1", lambda torch, F, x, w: F.prelu(x, w), POINTS, np.array([0.25]))
case("prelu", lambda torch, F, x, w: F.prelu(x, w), normal(2, 3, 2), normal(3))
case("softmax", lambda torch, F, x: F.softmax(x, 1), SMOOTH)
case("softmax-0", lambda torch, F, x: F.softmax(x, 0), SMOOTH)
case("log_softmax", lambda torch, F, x: F.log_softmax(x, -1), SMOOTH)
case("softmin", lambda torch, F, x: F.softmin(x, 1), SMOOTH)

# -- affine maps and what is around them
case("linear", lambda torch, F, x, w, b: F.linear(x, w, b), normal(3, 4), normal(5, 4), normal(5))
case("linear-no-bias", lambda torch, F, x, w: F.linear(x, w), normal(3, 4), normal(5, 4))
case("linear-1d", lambda torch, F, x, w, b: F.linear(x, w, b), normal(4), normal(5, 4), normal(5))
case("linear-3d", lambda torch, F, x, w, b: F.linear(x, w, b),
     normal(2, 3, 4), normal(5, 4), normal(5))  # fmt: skip
case("linear-strided", lambda torch, F, x, w, b: F.linear(x.transpose(0, 1), w, b),
     normal(3, 2, 4), normal(5, 4), normal(5))  # fmt: skip
case("linear-empty", lambda torch, F, x, w, b: F.linear(x, w, b),
     normal(0, 4), normal(5, 4), normal(5))  # fmt: skip
case("bilinear", lambda torch, F, x, y, w, b: F.bilinear(x, y, w, b),
     normal(3, 4), normal(3, 2), normal(5, 4, 2), normal(5))  # fmt: skip
INDICES = np.array([[0, 2, 2], [1, 0, 4]])
case("embedding", lambda torch, F, w, i: F.embedding(i, w), normal(5, 3), INDICES)
case("embedding-padding", lambda torch, F, w, i: F.embedding(i, w, padding_idx=2),
     normal(5, 3), INDICES)  # fmt: skip
case("embedding-frequency", lambda torch, F, w, i: F.embedding(i, w, scale_grad_by_freq=True),
     normal(5, 3), INDICES)  # fmt: skip
case("layer_norm", lambda torch, F, x, w, b: F.layer_norm(x, (4,), w, b),
     normal(2, 3, 4), normal(4), normal(4))  # fmt: skip
case("layer_norm-2", lambda torch, F, x, w: F.layer_norm(x, (3, 4), w, None, 1e-3),
     normal(2, 3, 4), normal(3, 4))  # fmt: skip
case("layer_norm-plain", lambda torch, F, x: F.layer_norm(x, (4,)), normal(3, 4))
case("rms_norm", lambda torch, F, x, w: F.rms_norm(x, (4,), w), normal(2, 4), normal(4))
case("rms_norm-2", lambda torch, F, x: F.rms_norm(x, (3, 4), eps=1e-3), normal(2, 3, 4))
CHANNELS = [normal(3), positive(3), normal(3), positive(3)]  # weight, bias, running statistics
for _shape in ((5, 3), (2, 3, 4), (2, 3, 2, 3), (2, 3, 2, 1, 2)):
    _name = f"{len(_shape)}d"
    case(f"batch_norm-{_name}", lambda torch, F, x, w, b: F.batch_norm(
        x, None, None, w, b, True), normal(*_shape), *CHANNELS[:2])  # fmt: skip
    case(f"batch_norm-evaluation-{_name}", lambda torch, F, x, w, b, m, v: F.batch_norm(
        x, m, v, w, b), normal(*_shape), *CHANNELS, constants=(3, 4))  # fmt: skip
    case(f"group_norm-{_name}", lambda torch, F, x, w, b: F.group_norm(
        x.repeat(1, 2, *[1] * (x.dim() - 2)) + torch.arange(6, dtype=x.dtype).reshape(
            6, *[1] * (x.dim() - 2)), 2, w.repeat(2), b.repeat(2)),
        normal(*_shape), *CHANNELS[:2])  # fmt: skip
    if len(_shape) > 2:
        case(f"instance_norm-{_name}", lambda torch, F, x, w, b: F.instance_norm(
            x, None, None, w, b), normal(*_shape), *CHANNELS[:2])  # fmt: skip
        case(f"local_response_norm-{_name}", lambda torch, F, x: F.local_response_norm(
            x, 2, 0.5), normal(*_shape))  # fmt: skip
case("batch_norm-plain", lambda torch, F, x: F.batch_norm(x, None, None, training=True),
     normal(5, 3))  # fmt: skip
case("batch_norm-weight", lambda torch, F, x, w: F.batch_norm(x, None, None, w, training=True),
     normal(2, 3, 4), normal(3))  # fmt: skip
case("batch_norm-known-plain", lambda torch, F, x, m, v: F.batch_norm(x, m, v, eps=0.0),
     normal(5, 3), *CHANNELS[2:], constants=(1, 2))  # fmt: skip
case("batch_norm-strided", lambda torch, F, x: F.batch_norm(
    x.transpose(0, 1), None, None, training=True), normal(3, 2, 4))  # fmt: skip
case("group_norm-plain", lambda torch, F, x: F.group_norm(x, 3), normal(2, 6, 4))
case("group_norm-strided", lambda torch, F, x: F.group_norm(x.transpose(0, 2), 3), normal(4, 6, 2))
case("group_norm-one", lambda torch, F, x, w: F.group_norm(x, 1, w, None, 1e-3),
     normal(2, 3, 4), normal(3))  # fmt: skip
case("instance_norm-known", lambda torch, F, x, m, v: F.instance_norm(
    x, m, v, use_input_stats=False), normal(2, 3, 4), *CHANNELS[2:], constants=(1, 2))  # fmt: skip
case("local_response_norm-odd", lambda torch, F, x: F.local_response_norm(x, 3, 0.3, 0.5, 2.0),
     normal(2, 5, 3))  # fmt: skip
case("normalize", lambda torch, F, x: F.normalize(x), normal(3, 4))
case("normalize-1", lambda torch, F, x: F.normalize(x, 1.0, 0), positive(3, 4))
case("cosine_similarity", lambda torch, F, x, y: F.cosine_similarity(x, y),
     normal(3, 4), normal(3, 4))  # fmt: skip
case("cosine_similarity-broadcast", lambda torch, F, x, y: F.cosine_similarity(x, y, -1),
     normal(3, 4), normal(4))  # fmt: skip
case("pairwise_distance", lambda torch, F, x, y: F.pairwise_distance(x, y),
     normal(3, 4), normal(3, 4))  # fmt: skip
case("pad", lambda torch, F, x: F.pad(x, (1, 2)), normal(2, 3))
case("pad-value", lambda torch, F, x: F.pad(x, (1, 0, 0, 2), value=7.5), normal(2, 3))
case("pad-cut", lambda torch, F, x: F.pad(x, (-1, 2)), normal(2, 3))
for _mode in ("reflect", "replicate", "circular"):
    case(f"pad-{_mode}", lambda torch, F, x, m=_mode: F.pad(x, (1, 2), m), normal(2, 3, 4))

# -- losses
CLASSES = np.array([0, 3, 1])
for _how in ("mean", "sum", "none"):
    for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        case(f"{_name}-{_how}",
             lambda torch, F, x, y, n=_name, h=_how: getattr(F, n)(x, y, reduction=h),
             normal(3, 4) * 2, normal(3, 4))  # fmt: skip
    case(f"soft_margin_loss-{_how}",
         lambda torch, F, x, y, h=_how: F.soft_margin_loss(x, y, reduction=h),
         normal(3, 4), np.sign(normal(3, 4)), constants=(1,))  # fmt: skip
    case(f"bce-{_how}",
         lambda torch, F, x, y, h=_how: F.binary_cross_entropy(x, y, reduction=h),
         RNG.uniform(0.1, 0.9, (3, 4)), RNG.uniform(0, 1, (3, 4)), constants=(1,),
         rtol=1e-10)  # fmt: skip
    case(f"bce-weight-{_how}",
         lambda torch, F, x, y, w, h=_how: F.binary_cross_entropy(x, y, w, reduction=h),
         RNG.uniform(0.1, 0.9, (3, 4)), RNG.uniform(0, 1, (3, 4)), positive(4),
         constants=(1, 2), rtol=1e-10)  # fmt: skip
    case(f"bce_logits-{_how}",
         lambda torch, F, x, y, h=_how: F.binary_cross_entropy_with_logits(x, y, reduction=h),
         SMOOTH, RNG.uniform(0, 1, (2, 4)), constants=(1,))  # fmt: skip
    case(f"bce_logits-weights-{_how}",
         lambda torch, F, x, y, w, p, h=_how: F.binary_cross_entropy_with_logits(
             x, y, w, reduction=h, pos_weight=p),
         SMOOTH, RNG.uniform(0, 1, (2, 4)), positive(4), positive(4),
         constants=(1, 2, 3))  # fmt: skip
    case(f"nll_loss-{_how}", lambda torch, F, x, y, h=_how: F.nll_loss(x, y, reduction=h),
         normal(3, 4), CLASSES)  # fmt: skip
    case(f"nll_loss-ignored-{_how}",
         lambda torch, F, x, y, w, h=_how: F.nll_loss(x, y, w, ignore_index=3, reduction=h),
         normal(3, 4), CLASSES, positive(4), constants=(2,))  # fmt: skip
    case(f"cross_entropy-{_how}", lambda torch, F, x, y, h=_how: F.cross_entropy(x, y, reduction=h),
         normal(3, 4), CLASSES)  # fmt: skip
    case(f"cross_entropy-weight-{_how}",
         lambda torch, F, x, y, w, h=_how: F.cross_entropy(x, y, w, reduction=h),
         normal(3, 4), CLASSES, positive(4), constants=(2,))  # fmt: skip
    case(f"cross_entropy-smooth-{_how}",
         lambda torch, F, x, y, h=_how: F.cross_entropy(x, y, reduction=h, label_smoothing=0.2),
         normal(3, 4), CLASSES)  # fmt: skip
    case(f"cross_entropy-all-{_how}",
         lambda torch, F, x, y, w, h=_how: F.cross_entropy(
             x, y, w, ignore_index=3, reduction=h, label_smoothing=0.2),
         normal(3, 4), CLASSES, positive(4), constants=(2,))  # fmt: skip
    case(f"cross_entropy-probabilities-{_how}",
         lambda torch, F, x, y, h=_how: F.cross_entropy(x, y, reduction=h),
         normal(3, 4), probabilities(3, 4))  # fmt: skip
    case(f"cross_entropy-probabilities-all-{_how}",
         lambda torch, F, x, y, w, h=_how: F.cross_entropy(
             x, y, w, reduction=h, label_smoothing=0.2),
         normal(3, 4), probabilities(3, 4), positive(4), constants=(1, 2))  # fmt: skip
    case(f"cross_entropy-1d-{_how}",
         lambda torch, F, x, y, h=_how: F.cross_entropy(x, y, reduction=h),
         normal(4), np.array(2))  # fmt: skip
    case(f"cross_entropy-3d-{_how}",
         lambda torch, F, x, y, h=_how: F.cross_entropy(x, y, reduction=h),
         normal(2, 4, 3), np.array([[0, 1, 2], [3, -100, 1]]))  # fmt: skip
    case(f"cross_entropy-4d-{_how}",
         lambda torch, F, x, y, h=_how: F.cross_entropy(x, y, reduction=h),
         normal(2, 4, 2, 2), RNG.integers(0, 4, (2, 2, 2)))  # fmt: skip
    case(f"kl_div-{_how}", lambda torch, F, x, y, h=_how: F.kl_div(x, y, reduction=h),
         normal(3, 4), probabilities(3, 4), constants=(1,))  # fmt: skip
    case(f"poisson-{_how}",
         lambda torch, F, x, y, h=_how: F.poisson_nll_loss(x, y, full=True, reduction=h),
         normal(3, 4), positive(3, 4) * 3, constants=(1,))  # fmt: skip
    case(f"gaussian-{_how}",
         lambda torch, F, x, y, v, h=_how: F.gaussian_nll_loss(x, y, v, full=True, reduction=h),
         normal(3, 4), normal(3, 4), positive(3, 4))  # fmt: skip
    case(f"hinge-{_how}",
         lambda torch, F, x, y, h=_how: F.hinge_embedding_loss(x, y, reduction=h),
         normal(3, 4), np.sign(normal(3, 4)), constants=(1,))  # fmt: skip
    case(f"ranking-{_how}",
         lambda torch, F, x, z, y, h=_how: F.margin_ranking_loss(x, z, y, 0.5, reduction=h),
         normal(3), normal(3), np.sign(normal(3)), constants=(2,))  # fmt: skip
    case(f"cosine-{_how}",
         lambda torch, F, x, z, y, h=_how: F.cosine_embedding_loss(x, z, y, reduction=h),
         normal(3, 4), normal(3, 4), np.array([1.0, -1.0, 1.0]), constants=(2,))  # fmt: skip
    case(f"triplet-{_how}",
         lambda torch, F, x, y, z, h=_how: F.triplet_margin_loss(x, y, z, reduction=h),
         normal(3, 4), normal(3, 4), normal(3, 4))  # fmt: skip
case("mse_loss-weight", lambda torch, F, x, y, w: F.mse_loss(x, y, weight=w),
     normal(3, 4), normal(3, 4), positive(3, 4))  # fmt: skip
case("smooth_l1_loss-beta", lambda torch, F, x, y: F.smooth_l1_loss(x, y, beta=0.3),
     normal(3, 4), normal(3, 4))  # fmt: skip
case("smooth_l1_loss-kinks", lambda torch, F, x, y: F.smooth_l1_loss(x, y),
     np.array([1.0, -1.0, 0.0, 3.0]), np.zeros(4))  # fmt: skip
case("huber_loss-kinks", lambda torch, F, x, y: F.huber_loss(x, y, delta=0.5),
     np.array([0.5, -0.5, 0.0, 3.0]), np.zeros(4))  # fmt: skip
case("bce-saturated", lambda torch, F, x, y: F.binary_cross_entropy(x, y, reduction="none"),
     np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0]),
     constants=(1,), twice=False)  # fmt: skip
case("kl_div-batchmean", lambda torch, F, x, y: F.kl_div(x, y, reduction="batchmean"),
     normal(3, 4), probabilities(3, 4), constants=(1,))  # fmt: skip
case("kl_div-log", lambda torch, F, x, y: F.kl_div(x, y, reduction="sum", log_target=True),
     normal(3, 4), normal(3, 4))  # fmt: skip
