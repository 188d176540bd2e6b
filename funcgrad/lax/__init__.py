"""JAX's `lax` names: control flow and convolutions."""

from funcgrad.lax.convolution import conv, conv_general_dilated, conv_with_general_padding
from funcgrad.transforms.api import cond, stop_gradient

__all__ = [
    "cond",
    "conv",
    "conv_general_dilated",
    "conv_with_general_padding",
    "stop_gradient",
]
