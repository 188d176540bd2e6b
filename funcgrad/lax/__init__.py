"""JAX's `lax` names: control flow and convolutions."""

from funcgrad.lax.convolution import conv, conv_general_dilated, conv_with_general_padding
from funcgrad.transforms.api import (
    associative_scan,
    cond,
    fori_loop,
    map,
    scan,
    stop_gradient,
    switch,
    while_loop,
)

__all__ = [
    "associative_scan",
    "cond",
    "conv",
    "conv_general_dilated",
    "conv_with_general_padding",
    "fori_loop",
    "map",
    "scan",
    "stop_gradient",
    "switch",
    "while_loop",
]
