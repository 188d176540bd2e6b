"""Other libraries' interfaces over funcgrad, for programs that were written for them.

``funcgrad.compat.autograd`` is HIPS autograd's. Each is imported when it is asked for.
"""

from funcgrad.errors import suggest_names

suggest_names(__name__, later=("autograd",))
