"""Settings of funcgrad: one object, read where needed and written by the user.

It imports nothing of funcgrad. A setting never changes a result, only checks and reports.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Config", "config"]


@dataclass
class Config:
    """The settings; `funcgrad.config` is the one instance.

    Attributes
    ----------
    copy_limit : int
        Arrays of the caller that a backward pass needs are copied up to this many bytes; larger
        ones are watched by a fingerprint and an error is raised when they were changed.
    debug : bool
        Take a digest of the whole array instead of a sampled fingerprint.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.config.copy_limit
    65536
    """

    copy_limit: int = 64 * 1024
    debug: bool = False


config = Config()
