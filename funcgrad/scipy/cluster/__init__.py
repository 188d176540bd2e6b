"""``funcgrad.scipy.cluster``: codes of observations, in `funcgrad.scipy.cluster.vq`."""

from funcgrad.core.boundary import publish
from funcgrad.scipy.cluster import vq
from funcgrad.scipy.reasons import why_not

__all__ = ["vq"]

publish(__name__, reason=why_not(__name__))
