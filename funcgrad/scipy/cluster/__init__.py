"""``funcgrad.scipy.cluster``: codes of observations, in `funcgrad.scipy.cluster.vq`."""

from funcgrad.core.boundary import suggest_names
from funcgrad.scipy.cluster import vq
from funcgrad.scipy.reasons import why_not

__all__ = ["vq"]

suggest_names(__name__, reason=why_not(__name__))
