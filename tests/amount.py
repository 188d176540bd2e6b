"""How many examples a drawn test sees: all of them with ``--all``, a twelfth otherwise."""

import os

__all__ = ["examples"]


def examples(count: int, least: int = 4) -> int:
    """Of `count`, and no fewer than `least` of them (2 where each takes seconds)."""
    return count if os.environ.get("TESTS_TO_RUN") == "all" else max(least, count // 12)
