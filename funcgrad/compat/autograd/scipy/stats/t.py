"""Student's t distribution."""

from funcgrad.compat.autograd.names import names_of

__getattr__ = names_of("funcgrad.scipy.stats", "scipy.stats", within="t")
