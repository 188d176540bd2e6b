"""Threads, and the same bits in every run."""

import warnings

import pytest

import funcgrad as fg
import funcgrad.torch as torch

from .expressions import expressions, same_answer

WRONG = """
t.set_num_threads(0)
t.set_num_threads(True)
t.set_num_threads(2.0)
t.use_deterministic_algorithms(1)
t.use_deterministic_algorithms('yes')
t.use_deterministic_algorithms(True, warn_only=1)
t.are_deterministic_algorithms_enabled()
t.is_deterministic_algorithms_warn_only_enabled()
t.set_warn_always(1)
t.set_warn_always('a')
t.is_warn_always_enabled()
t.set_anomaly_enabled(1)
t.set_anomaly_enabled(True, 1)
t.set_anomaly_enabled('a', check_nan=False)
(t.set_anomaly_enabled(True, False), t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled())
(t.set_anomaly_enabled(False), t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled())
"""


@expressions(WRONG)
def test_expression(code):
    same_answer(code)


@pytest.fixture
def kept():
    kernels, threads = fg.config.kernels, fg.config.threads
    yield
    torch.use_deterministic_algorithms(False)
    fg.config.kernels, fg.config.threads = kernels, threads


def test_deterministic_algorithms_load_kernels_at_once(kept):
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert fg.config.kernels == "always"
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert fg.config.kernels is True
    assert not torch.are_deterministic_algorithms_enabled()


def test_kernels_that_are_switched_off_stay_so(kept):
    fg.config.kernels = False
    torch.use_deterministic_algorithms(True)
    assert fg.config.kernels is False
    assert torch.are_deterministic_algorithms_enabled()


def test_threads(kept):
    torch.set_num_threads(1)
    assert torch.get_num_threads() == fg.config.threads == 1


def test_warnings_that_are_given_once_are_given_each_time():
    def said():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.ones(2, 3, 4).T
        return len(caught)

    said()
    try:
        torch.set_warn_always(True)
        assert torch.is_warn_always_enabled() and [said(), said()] == [1, 1]
    finally:
        torch.set_warn_always(False)
    assert said() == 0 and not torch.is_warn_always_enabled()
