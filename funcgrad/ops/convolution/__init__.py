"""Convolutions: of two vectors as NumPy has it, and of images with filters."""

from funcgrad.ops.convolution.images import (
    CONVOLUTION,
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    convolution,
    transposed_convolution,
)
from funcgrad.ops.convolution.vectors import CONVOLVE, convolve
from funcgrad.ops.convolution.window import Window

__all__ = [
    "CONVOLUTION",
    "CONVOLUTION_FILTER",
    "CONVOLUTION_INPUT",
    "CONVOLVE",
    "Window",
    "convolution",
    "convolve",
    "transposed_convolution",
]
