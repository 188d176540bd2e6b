"""The functions behind the layers and losses of `nn`, with PyTorch's names and signatures."""

from funcgrad.torch.absent import absent
from funcgrad.torch.nn.functional import (
    adaptive_pooling,
    alignment,
    attention,
    bags,
    dropouts,
    fractional_pooling,
    grids,
    pooling,
    resampling,
    shuffling,
)
from funcgrad.torch.nn.functional.activation import (
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    prelu,
    relu,
    relu6,
    relu_,
    softshrink,
    threshold,
    threshold_,
)
from funcgrad.torch.nn.functional.adaptive_pooling import *  # noqa: F403
from funcgrad.torch.nn.functional.alignment import *  # noqa: F403
from funcgrad.torch.nn.functional.attention import *  # noqa: F403
from funcgrad.torch.nn.functional.bags import *  # noqa: F403
from funcgrad.torch.nn.functional.binary import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    soft_margin_loss,
)
from funcgrad.torch.nn.functional.channels import (
    batch_norm,
    group_norm,
    instance_norm,
    local_response_norm,
)
from funcgrad.torch.nn.functional.classification import (
    cross_entropy,
    nll_loss,
)
from funcgrad.torch.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from funcgrad.torch.nn.functional.distance import (
    cosine_similarity,
    normalize,
    pad,
    pairwise_distance,
)
from funcgrad.torch.nn.functional.dropouts import *  # noqa: F403
from funcgrad.torch.nn.functional.fractional_pooling import *  # noqa: F403
from funcgrad.torch.nn.functional.grids import *  # noqa: F403
from funcgrad.torch.nn.functional.linear import (
    bilinear,
    embedding,
    linear,
    one_hot,
)
from funcgrad.torch.nn.functional.linear_cross_entropy import linear_cross_entropy
from funcgrad.torch.nn.functional.loss import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    kl_div,
    margin_ranking_loss,
    poisson_nll_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from funcgrad.torch.nn.functional.margins import (
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
)
from funcgrad.torch.nn.functional.normalization import (
    dropout,
    layer_norm,
    rms_norm,
)
from funcgrad.torch.nn.functional.pooling import *  # noqa: F403
from funcgrad.torch.nn.functional.rectified_at_random import rrelu, rrelu_
from funcgrad.torch.nn.functional.regression import (
    huber_loss,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from funcgrad.torch.nn.functional.resampling import *  # noqa: F403
from funcgrad.torch.nn.functional.shuffling import *  # noqa: F403
from funcgrad.torch.nn.functional.smooth import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    logsigmoid,
    mish,
    selu,
    selu_,
    sigmoid,
    silu,
    softplus,
    softsign,
    tanh,
    tanhshrink,
)
from funcgrad.torch.nn.functional.softmax import (
    gumbel_softmax,
    log_softmax,
    softmax,
    softmin,
)
from funcgrad.torch.operations.distances_between_rows import pdist

__all__ = [
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "linear_cross_entropy",
    "dropout",
    "elu",
    "elu_",
    "embedding",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

__all__ += adaptive_pooling.__all__ + attention.__all__ + dropouts.__all__ + pooling.__all__
__all__ += shuffling.__all__
__all__ += resampling.__all__
__all__ += grids.__all__
__all__ += bags.__all__
__all__ += alignment.__all__
__all__ += fractional_pooling.__all__

absent(__name__)
