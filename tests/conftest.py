"""All drawn tests see the same examples in every run, so that a red run can be repeated.

``HYPOTHESIS_PROFILE=random`` looks for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
