"""``numpy.fft`` for plain and traced arrays."""

from funcgrad.compat.autograd.names import names_of

__getattr__ = names_of("funcgrad.numpy.fft", "numpy.fft")
