"""How many examples a drawn test sees: all of them with ``--all``, an eighth otherwise."""

import os

__all__ = ["examples"]


def examples(count: int) -> int:
    return count if os.environ.get("TESTS_TO_RUN") == "all" else max(6, count // 8)
