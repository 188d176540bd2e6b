"""``torch.autograd``: backward passes, and what controls and inspects them."""

from funcgrad.torch import mixing as _mixing  # noqa: F401 (tensors in NumPy and in transforms)
from funcgrad.torch.absent import absent
from funcgrad.torch.autograd import forward_ad, function, functional, graph
from funcgrad.torch.autograd.anomaly import detect_anomaly, set_detect_anomaly
from funcgrad.torch.autograd.backward_and_grad import backward, grad
from funcgrad.torch.autograd.function import Function
from funcgrad.torch.autograd.gradcheck import gradcheck, gradgradcheck
from funcgrad.torch.autograd.variable import Variable
from funcgrad.torch.modes import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

absent(__name__)
