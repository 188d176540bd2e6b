"""``numpy.random``: draws are constants."""

from funcgrad.compat.autograd.names import names_of

__getattr__ = names_of("numpy.random")
