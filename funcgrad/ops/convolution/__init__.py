"""Convolutions: of two vectors as NumPy has it, and of images with filters."""

from funcgrad.ops.convolution.images import (
    CONVOLUTION,
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    CONVOLUTION_RESULT,
    TRANSPOSED_CONVOLUTION,
    convolution,
    transposed_convolution,
)
from funcgrad.ops.convolution.vectors import CONVOLVE, convolve
from funcgrad.ops.convolution.window import Window

__all__ = [
    "CONVOLUTION",
    "CONVOLUTION_FILTER",
    "CONVOLUTION_INPUT",
    "CONVOLUTION_RESULT",
    "CONVOLVE",
    "TRANSPOSED_CONVOLUTION",
    "Window",
    "convolution",
    "convolve",
    "transposed_convolution",
]
