"""PyTorch's stateful autograd over the core's tape: ``import funcgrad.torch as torch``."""

from funcgrad.torch import autograd, func, linalg, random, return_types, special, utils
from funcgrad.torch._tensor import Size, Tensor
from funcgrad.torch.autograd import methods as _methods
from funcgrad.torch.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from funcgrad.torch.device import contiguous_format, device, preserve_format, strided
from funcgrad.torch.dtypes import *  # noqa: F403
from funcgrad.torch.func import vmap
from funcgrad.torch.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from funcgrad.torch.operations import operators as _operators
from funcgrad.torch.operations.activations import *  # noqa: F403
from funcgrad.torch.operations.arithmetic import *  # noqa: F403
from funcgrad.torch.operations.arranging import *  # noqa: F403
from funcgrad.torch.operations.asking import *  # noqa: F403
from funcgrad.torch.operations.axes import *  # noqa: F403
from funcgrad.torch.operations.choosing import *  # noqa: F403
from funcgrad.torch.operations.comparison import *  # noqa: F403
from funcgrad.torch.operations.complexes import *  # noqa: F403
from funcgrad.torch.operations.contraction import *  # noqa: F403
from funcgrad.torch.operations.converting import *  # noqa: F403
from funcgrad.torch.operations.counting import *  # noqa: F403
from funcgrad.torch.operations.creation import *  # noqa: F403
from funcgrad.torch.operations.cumulative import *  # noqa: F403
from funcgrad.torch.operations.elementary import *  # noqa: F403
from funcgrad.torch.operations.extrema import *  # noqa: F403
from funcgrad.torch.operations.gathering import *  # noqa: F403
from funcgrad.torch.operations.generator import *  # noqa: F403
from funcgrad.torch.operations.indexing import *  # noqa: F403
from funcgrad.torch.operations.joining import *  # noqa: F403
from funcgrad.torch.operations.legacy import *  # noqa: F403
from funcgrad.torch.operations.linear_algebra import *  # noqa: F403
from funcgrad.torch.operations.moments import *  # noqa: F403
from funcgrad.torch.operations.norms import *  # noqa: F403
from funcgrad.torch.operations.parts import *  # noqa: F403
from funcgrad.torch.operations.products import *  # noqa: F403
from funcgrad.torch.operations.quantiles import *  # noqa: F403
from funcgrad.torch.operations.reductions import *  # noqa: F403
from funcgrad.torch.operations.reshaping import *  # noqa: F403
from funcgrad.torch.operations.rounding import *  # noqa: F403
from funcgrad.torch.operations.sampling import *  # noqa: F403
from funcgrad.torch.operations.scatter_reduce import *  # noqa: F403
from funcgrad.torch.operations.searching import *  # noqa: F403
from funcgrad.torch.operations.softmax import *  # noqa: F403
from funcgrad.torch.operations.sorting import *  # noqa: F403
from funcgrad.torch.operations.special_functions import *  # noqa: F403
from funcgrad.torch.printing import set_printoptions

from funcgrad.torch import nn, optim  # isort: skip (they stand on the operations)
from funcgrad.torch.nn.functional import (  # isort: skip
    bilinear, celu, celu_, cosine_similarity, hardshrink, layer_norm, pairwise_distance, prelu,
    rms_norm, selu, selu_, threshold, threshold_,
)  # fmt: skip
from funcgrad.torch.serialization import load, save  # isort: skip
