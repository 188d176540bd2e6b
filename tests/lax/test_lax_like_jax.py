"""Every name of `lax`: the same text with JAX's modules and with ours, in nests of transforms."""

import pytest
from jax_pair import check
from lax.jax_programs import PROGRAMS

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_jax(name):
    pytest.importorskip("jax")
    check(name, PROGRAMS[name])
