"""Where SciPy had `logsumexp` when autograd's examples were written."""

from funcgrad.scipy.special import logsumexp

__all__ = ["logsumexp"]
