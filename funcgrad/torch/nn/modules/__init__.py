"""The layers and losses, and the class that they derive from."""

from funcgrad.torch.nn.modules import (
    adaptive,
    attention,
    dropouts,
    lazy,
    padding,
    pooling,
    rnn,
    rnn_cells,
    sequences,
    shuffling,
    transformer,
    upsampling,
)
from funcgrad.torch.nn.modules.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from funcgrad.torch.nn.modules.adaptive import *  # noqa: F403
from funcgrad.torch.nn.modules.attention import *  # noqa: F403
from funcgrad.torch.nn.modules.channels import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from funcgrad.torch.nn.modules.container import ModuleDict, ModuleList, Sequential
from funcgrad.torch.nn.modules.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from funcgrad.torch.nn.modules.dropouts import *  # noqa: F403
from funcgrad.torch.nn.modules.lazy import *  # noqa: F403
from funcgrad.torch.nn.modules.linear import (
    Bilinear,
    Embedding,
    Flatten,
    Identity,
    Linear,
    Unflatten,
)
from funcgrad.torch.nn.modules.linear_cross_entropy import (
    LinearCrossEntropyLoss,
    LinearCrossEntropyOptions,
)
from funcgrad.torch.nn.modules.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from funcgrad.torch.nn.modules.module import (
    Module,
)
from funcgrad.torch.nn.modules.normalization import (
    Dropout,
    GroupNorm,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
from funcgrad.torch.nn.modules.padding import *  # noqa: F403
from funcgrad.torch.nn.modules.parameters import ParameterDict, ParameterList
from funcgrad.torch.nn.modules.pooling import *  # noqa: F403
from funcgrad.torch.nn.modules.rnn import *  # noqa: F403
from funcgrad.torch.nn.modules.rnn_cells import *  # noqa: F403
from funcgrad.torch.nn.modules.sequences import *  # noqa: F403
from funcgrad.torch.nn.modules.shuffling import *  # noqa: F403
from funcgrad.torch.nn.modules.transformer import *  # noqa: F403
from funcgrad.torch.nn.modules.upsampling import *  # noqa: F403

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CELU",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "GLU",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PReLU",
    "ParameterDict",
    "ParameterList",
    "PoissonNLLLoss",
    "RMSNorm",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
]
__all__ += adaptive.__all__
__all__ += attention.__all__ + pooling.__all__ + rnn.__all__ + rnn_cells.__all__
__all__ += transformer.__all__ + dropouts.__all__ + padding.__all__ + shuffling.__all__
__all__ += upsampling.__all__
__all__ += lazy.__all__
__all__ += sequences.__all__
