"""Which thread traces with which tensors: these hold memory without numbers meanwhile.

While a step is traced code of the user runs, so no lock is held: another thread may trace another
step, also one for which this one waits. Only who needs the very same tensors waits for them (a step
that waits for such a thread does so for ever).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from funcgrad.torch.compiling.captures import Reached

__all__ = ["claimed", "others_trace"]

_changed = threading.Condition()  # held for a few look-ups at a time
_owners: dict[int, int] = {}  # by the identity of a tensor, which its thread keeps


def others_trace() -> bool:
    """Whether another thread traces a step."""
    return bool(_owners) and any(own != threading.get_ident() for own in list(_owners.values()))


@contextmanager
def claimed(walk: Callable[[], Reached]) -> Iterator[Reached]:
    """What a walk finds, with tensors that belong to this thread for a while.

    It walks again where another thread had one of them: what it saw was not what they hold.
    """
    while True:
        reached = walk()
        places = [id(x) for x in reached.tensors]
        if _take(places):
            break
    try:
        yield reached
    finally:
        with _changed:
            for place in places:
                _owners.pop(place, None)
            _changed.notify_all()


def _take(places: list[int]) -> bool:
    """Whether the tensors could be claimed; it waits where they could not."""
    me = threading.get_ident()
    with _changed:
        if all(_owners.get(place, me) == me for place in places):
            _owners.update(dict.fromkeys(places, me))
            return True
        while any(_owners.get(place, me) != me for place in places):
            _changed.wait()
    return False
