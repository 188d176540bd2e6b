"""Which tests run, and on which examples.

All drawn tests see the same examples in every run, so that a red run can be repeated;
``HYPOTHESIS_PROFILE=random`` looks for new ones.

By default a part of the suite runs that is complete in kind: every test function, with at most
`CASES` of its parameters (`COSTLY`, or as many as its mark says, where each takes seconds) and
fewer drawn examples. ``--all`` runs everything, and so does naming a file.

No test starts a process that builds kernels or makes code better, but those that are about it, and
tracebacks show our own frames.
"""

import gc
import os
import zlib

import numpy as np
import pytest
from hypothesis import settings

CASES, COSTLY = 4, 2

os.environ.setdefault("FUNCGRAD_BUILD_KERNELS", "off")
os.environ.setdefault("FUNCGRAD_TIERS", "first")  # most programs are called once
os.environ.setdefault("FUNCGRAD_TRACEBACK", "full")
settings.register_profile("same", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="every case of every test")


def pytest_configure(config):
    gc.disable()  # tens of thousands of tests are made, and none of them is garbage
    if config.getoption("--all") or any(a.split("::")[0].endswith(".py") for a in config.args):
        os.environ["TESTS_TO_RUN"] = "all"  # for `amount.examples`, in processes of their own too


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Make no more cases of a function than a number, before pytest makes objects of them.

    Which ones depends on their names alone: all processes agree, and a case does not come and go
    with others. pytest has no public way to leave out a case before it is an item (70,000 of them
    take longer than a thousand tests); where `_calls` has another name one day, this fails loudly.
    """
    result = yield
    calls = metafunc._calls
    costly = metafunc.definition.get_closest_marker("costly")
    number = CASES if costly is None else costly.kwargs.get("cases", COSTLY)
    if os.environ.get("TESTS_TO_RUN") != "all" and len(calls) > number:
        name = metafunc.definition.nodeid
        ranks = [zlib.crc32(f"{name}[{call.id}]".encode()) for call in calls]
        calls[:] = [calls[i] for i in sorted(np.argsort(ranks, kind="stable")[:number])]
    return result


def pytest_collection_modifyitems(items):
    """Put tests that are marked "early" first."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


def pytest_collection_finish():
    """Let the collector leave alone what has been collected here: many tests ask for a collection.

    The tests themselves and all modules are most of the heap.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
