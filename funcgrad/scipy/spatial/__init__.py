"""``funcgrad.scipy.spatial``: distances, in `funcgrad.scipy.spatial.distance`."""

from funcgrad.scipy.spatial import distance

__all__ = ["distance"]
