"""The class that autograd's traced arrays have, for ``isinstance``."""

from funcgrad.compat.autograd.tracer import Box

__all__ = ["ArrayBox"]

ArrayBox = Box
