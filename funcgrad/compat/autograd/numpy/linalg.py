"""``numpy.linalg`` for plain and traced arrays."""

from funcgrad.compat.autograd.names import names_of

__getattr__ = names_of("funcgrad.numpy.linalg", "numpy.linalg")
