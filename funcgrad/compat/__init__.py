"""Other libraries' interfaces over funcgrad, for programs that were written for them.

``funcgrad.compat.autograd`` is HIPS autograd's. Each is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from funcgrad.core.boundary import suggest_names

if TYPE_CHECKING:
    from funcgrad.compat import autograd as autograd

__all__ = ["autograd"]

suggest_names(__name__, later=__all__)
