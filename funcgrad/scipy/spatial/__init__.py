"""``funcgrad.scipy.spatial``: distances, in `funcgrad.scipy.spatial.distance`."""

from funcgrad.core.boundary import publish
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.spatial import distance

__all__ = ["distance"]

publish(__name__, reason=why_not(__name__))
