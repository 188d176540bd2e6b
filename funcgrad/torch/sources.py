"""A digest of the facade's own files, under which what they made is kept on disk."""

from __future__ import annotations

import functools
import os

from funcgrad.compile.sources import digest_of, sources

__all__ = ["sources_of_facade"]


@functools.cache
def sources_of_facade() -> str | None:
    """A digest of our files: of what makes code, of the operations, and of their derivatives.

    None where we are not installed as files.
    """
    here = os.path.dirname(__file__)
    files = []
    for place in (here, os.path.join(os.path.dirname(here), "transforms")):
        for folder, _, names in os.walk(place):
            files += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    compiler = sources()
    return None if compiler is None else f"{compiler} {digest_of(files)}"
