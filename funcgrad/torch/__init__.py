"""PyTorch's stateful autograd over the core's tape: ``import funcgrad.torch as torch``."""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from sys import modules as _modules
from typing import TYPE_CHECKING as _TYPE_CHECKING

from funcgrad.torch import autograd as autograd
from funcgrad.torch import func as func
from funcgrad.torch import linalg as linalg
from funcgrad.torch import overrides as overrides
from funcgrad.torch import random as random
from funcgrad.torch import return_types as return_types
from funcgrad.torch import special as special
from funcgrad.torch import utils as utils
from funcgrad.torch._tensor import Tensor as Tensor
from funcgrad.torch.absent import absent as _absent
from funcgrad.torch.autograd import methods as _methods
from funcgrad.torch.autograd.anomaly import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from funcgrad.torch.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from funcgrad.torch.autograd.anomaly import set_anomaly_enabled as set_anomaly_enabled
from funcgrad.torch.device import channels_last as channels_last
from funcgrad.torch.device import channels_last_3d as channels_last_3d
from funcgrad.torch.device import contiguous_format as contiguous_format
from funcgrad.torch.device import device as device
from funcgrad.torch.device import layout as layout
from funcgrad.torch.device import memory_format as memory_format
from funcgrad.torch.device import preserve_format as preserve_format
from funcgrad.torch.device import strided as strided
from funcgrad.torch.dtypes import bfloat16 as bfloat16
from funcgrad.torch.dtypes import bool as bool
from funcgrad.torch.dtypes import can_cast as can_cast
from funcgrad.torch.dtypes import cdouble as cdouble
from funcgrad.torch.dtypes import cfloat as cfloat
from funcgrad.torch.dtypes import complex64 as complex64
from funcgrad.torch.dtypes import complex128 as complex128
from funcgrad.torch.dtypes import double as double
from funcgrad.torch.dtypes import dtype as dtype
from funcgrad.torch.dtypes import finfo as finfo
from funcgrad.torch.dtypes import float as float
from funcgrad.torch.dtypes import float16 as float16
from funcgrad.torch.dtypes import float32 as float32
from funcgrad.torch.dtypes import float64 as float64
from funcgrad.torch.dtypes import get_default_dtype as get_default_dtype
from funcgrad.torch.dtypes import half as half
from funcgrad.torch.dtypes import iinfo as iinfo
from funcgrad.torch.dtypes import int as int
from funcgrad.torch.dtypes import int8 as int8
from funcgrad.torch.dtypes import int16 as int16
from funcgrad.torch.dtypes import int32 as int32
from funcgrad.torch.dtypes import int64 as int64
from funcgrad.torch.dtypes import long as long
from funcgrad.torch.dtypes import promote_types as promote_types
from funcgrad.torch.dtypes import set_default_dtype as set_default_dtype
from funcgrad.torch.dtypes import short as short
from funcgrad.torch.dtypes import uint8 as uint8
from funcgrad.torch.func import vmap as vmap
from funcgrad.torch.modes import enable_grad as enable_grad
from funcgrad.torch.modes import inference_mode as inference_mode
from funcgrad.torch.modes import is_grad_enabled as is_grad_enabled
from funcgrad.torch.modes import is_inference_mode_enabled as is_inference_mode_enabled
from funcgrad.torch.modes import no_grad as no_grad
from funcgrad.torch.modes import set_grad_enabled as set_grad_enabled
from funcgrad.torch.operations import sampling_in_place as _sampling_in_place
from funcgrad.torch.operations.activations import *  # noqa: F403
from funcgrad.torch.operations.added_products import *  # noqa: F403
from funcgrad.torch.operations.arithmetic import *  # noqa: F403
from funcgrad.torch.operations.axes import *  # noqa: F403
from funcgrad.torch.operations.comparison import *  # noqa: F403
from funcgrad.torch.operations.complexes import *  # noqa: F403
from funcgrad.torch.operations.contraction import *  # noqa: F403
from funcgrad.torch.operations.converting import *  # noqa: F403
from funcgrad.torch.operations.copies import *  # noqa: F403
from funcgrad.torch.operations.counting import *  # noqa: F403
from funcgrad.torch.operations.covariance import *  # noqa: F403
from funcgrad.torch.operations.creation import *  # noqa: F403
from funcgrad.torch.operations.cumulative import *  # noqa: F403
from funcgrad.torch.operations.diagonals import *  # noqa: F403
from funcgrad.torch.operations.differences import *  # noqa: F403
from funcgrad.torch.operations.distances_between_rows import *  # noqa: F403
from funcgrad.torch.operations.distributions import *  # noqa: F403
from funcgrad.torch.operations.einsum import *  # noqa: F403
from funcgrad.torch.operations.elementary import *  # noqa: F403
from funcgrad.torch.operations.extrema import *  # noqa: F403
from funcgrad.torch.operations.factorizations import pinverse as pinverse
from funcgrad.torch.operations.flipping_and_rolling import *  # noqa: F403
from funcgrad.torch.operations.gathering import *  # noqa: F403
from funcgrad.torch.operations.generator import *  # noqa: F403
from funcgrad.torch.operations.grids import *  # noqa: F403
from funcgrad.torch.operations.in_place import *  # noqa: F403
from funcgrad.torch.operations.incomplete import igamma as igamma
from funcgrad.torch.operations.incomplete import igammac as igammac
from funcgrad.torch.operations.index_writing import *  # noqa: F403
from funcgrad.torch.operations.interpolation import *  # noqa: F403
from funcgrad.torch.operations.joining import *  # noqa: F403
from funcgrad.torch.operations.legacy import *  # noqa: F403
from funcgrad.torch.operations.linear_algebra import *  # noqa: F403
from funcgrad.torch.operations.low_rank import *  # noqa: F403
from funcgrad.torch.operations.matrix_chains import *  # noqa: F403
from funcgrad.torch.operations.memory import *  # noqa: F403
from funcgrad.torch.operations.moments import *  # noqa: F403
from funcgrad.torch.operations.norms import *  # noqa: F403
from funcgrad.torch.operations.powers import *  # noqa: F403
from funcgrad.torch.operations.products import *  # noqa: F403
from funcgrad.torch.operations.quantiles import *  # noqa: F403
from funcgrad.torch.operations.ranges import *  # noqa: F403
from funcgrad.torch.operations.reductions import *  # noqa: F403
from funcgrad.torch.operations.reflections import *  # noqa: F403
from funcgrad.torch.operations.remainders import *  # noqa: F403
from funcgrad.torch.operations.replaced_parts import *  # noqa: F403
from funcgrad.torch.operations.reshaping import *  # noqa: F403
from funcgrad.torch.operations.rounding import *  # noqa: F403
from funcgrad.torch.operations.sampling import *  # noqa: F403
from funcgrad.torch.operations.scatter_reduce import *  # noqa: F403
from funcgrad.torch.operations.scattering import *  # noqa: F403
from funcgrad.torch.operations.searching import *  # noqa: F403
from funcgrad.torch.operations.selection import *  # noqa: F403
from funcgrad.torch.operations.slicing import *  # noqa: F403
from funcgrad.torch.operations.small_names import *  # noqa: F403
from funcgrad.torch.operations.softmax import *  # noqa: F403
from funcgrad.torch.operations.solutions_and_exponentials import *  # noqa: F403
from funcgrad.torch.operations.sorting import *  # noqa: F403
from funcgrad.torch.operations.special_functions import *  # noqa: F403
from funcgrad.torch.operations.splitting import *  # noqa: F403
from funcgrad.torch.operations.tensor_properties import *  # noqa: F403
from funcgrad.torch.operations.triangular_factors import *  # noqa: F403
from funcgrad.torch.operations.windows import *  # noqa: F403
from funcgrad.torch.operations.writing_flat_and_masked import *  # noqa: F403
from funcgrad.torch.operations.writing_slices import *  # noqa: F403
from funcgrad.torch.printing import set_printoptions as set_printoptions
from funcgrad.torch.settings import *  # noqa: F403
from funcgrad.torch.size import Size as Size

# The following stand on the operations.
# isort: split
from funcgrad.torch import amp as amp
from funcgrad.torch import fft as fft
from funcgrad.torch import nn as nn
from funcgrad.torch import optim as optim
from funcgrad.torch import signal as signal
from funcgrad.torch.amp.autocast_mode import autocast as autocast
from funcgrad.torch.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from funcgrad.torch.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from funcgrad.torch.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from funcgrad.torch.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from funcgrad.torch.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from funcgrad.torch.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from funcgrad.torch.amp.autocast_mode import (
    set_autocast_cache_enabled as set_autocast_cache_enabled,
)
from funcgrad.torch.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from funcgrad.torch.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from funcgrad.torch.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from funcgrad.torch.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from funcgrad.torch.amp.grad_scaler import GradScaler as GradScaler
from funcgrad.torch.amp.policies import cover as _cover
from funcgrad.torch.compiling.api import compile as compile
from funcgrad.torch.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from funcgrad.torch.nn.functional import avg_pool1d as avg_pool1d
from funcgrad.torch.nn.functional import bilinear as bilinear
from funcgrad.torch.nn.functional import celu_ as celu_
from funcgrad.torch.nn.functional import channel_shuffle as channel_shuffle
from funcgrad.torch.nn.functional import conv1d as conv1d
from funcgrad.torch.nn.functional import conv2d as conv2d
from funcgrad.torch.nn.functional import conv3d as conv3d
from funcgrad.torch.nn.functional import conv_transpose1d as conv_transpose1d
from funcgrad.torch.nn.functional import conv_transpose2d as conv_transpose2d
from funcgrad.torch.nn.functional import conv_transpose3d as conv_transpose3d
from funcgrad.torch.nn.functional import cosine_similarity as cosine_similarity
from funcgrad.torch.nn.functional import hardshrink as hardshrink
from funcgrad.torch.nn.functional import pairwise_distance as pairwise_distance
from funcgrad.torch.nn.functional import pixel_shuffle as pixel_shuffle
from funcgrad.torch.nn.functional import pixel_unshuffle as pixel_unshuffle
from funcgrad.torch.nn.functional import prelu as prelu
from funcgrad.torch.nn.functional import rrelu_ as rrelu_
from funcgrad.torch.nn.functional import selu_ as selu_
from funcgrad.torch.nn.functional import threshold_ as threshold_
from funcgrad.torch.nn.functional.lower_level import *  # noqa: F403
from funcgrad.torch.nn.functional.rectified_at_random import rrelu_with_generator as _rrelu
from funcgrad.torch.serialization import load as load
from funcgrad.torch.serialization import save as save
from funcgrad.torch.spectra import istft as istft
from funcgrad.torch.spectra import stft as stft

if _TYPE_CHECKING:  # imported on first use
    from funcgrad.torch import backends as backends
    from funcgrad.torch import cuda as cuda
    from funcgrad.torch import distributions as distributions
    from funcgrad.torch import testing as testing

__version__ = "2.13.0+funcgrad"  # the PyTorch whose behaviour this is
newaxis = None
rrelu = _rrelu
_cover(nn.functional, linalg, fft, Tensor)
_cover(_modules[__name__])

_absent(__name__)
