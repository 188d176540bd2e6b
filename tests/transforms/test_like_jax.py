"""Transforms: the same text with JAX's modules and with ours, in nests of transforms."""

import jax_pair
import pytest
from transforms.jax_programs import PROGRAMS, SHARED

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_jax(name):
    pytest.importorskip("jax")
    jax_pair.check(name, PROGRAMS[name], SHARED)
