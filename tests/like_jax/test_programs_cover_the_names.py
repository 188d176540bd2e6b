"""Every function that has JAX's name is in a program that is compared with JAX, and there are many."""

import importlib
import re

import pytest
from lax.jax_programs import PROGRAMS as OF_LAX
from like_jax import (
    test_more_names_like_jax,
    test_nn_like_jax,
    test_optim_like_optax,
    test_options_like_jax,
    test_random_like_jax,
    test_rules_and_solvers_like_jax,
    test_trees_like_jax,
)
from nesting import operators
from transforms.jax_programs import PROGRAMS as OF_TRANSFORMS
from transforms.jax_programs import SHARED

import funcgrad as fg

pytestmark = pytest.mark.peers

FILES = (
    test_more_names_like_jax,
    test_nn_like_jax,
    test_optim_like_optax,
    test_options_like_jax,
    test_random_like_jax,
    test_rules_and_solvers_like_jax,
    test_trees_like_jax,
)
# Names that the same programs have as text elsewhere, or that other files compare with JAX.
ELSEWHERE = {
    "": {"io_callback", "named_scope", "disable_jit"},  # effects and settings: test_callbacks
    "random": {  # quantiles: other numbers than JAX's, checked by their distributions
        "ball", "beta", "binomial", "chisquare", "dirichlet", "f", "gamma", "generalized_normal",
        "loggamma", "multinomial", "poisson", "t", "key_dtype",
    },
    "nn": {"scaled_matmul"},
    "lax": {  # the last one: JAX has fewer digits (test_rules_and_solvers_like_jax)
        "ConvDimensionNumbers", "conv_dimension_numbers", "conv_with_general_padding", "scaled_dot",
    },
    "lax.linalg": {"qdwh"},
    "tree_util": {"PyTreeDef", "PyTreeRegistry", "KeyPath", "KeyEntry"},
}  # fmt: skip


def programs():
    found = [p[0] for p in (*OF_LAX.values(), *OF_TRANSFORMS.values())]
    for file in FILES:
        lists = [v for v in vars(file).values() if isinstance(v, list)]
        found += [p for each in lists for p in each if isinstance(p, str)]
    return found


def test_there_are_many():
    assert len(set(programs())) > 700


@pytest.mark.parametrize(
    "module", ["", "lax", "lax.linalg", "nn", "nn.initializers", "random", "tree", "tree_util"]
)
def test_every_name_is_in_one(module):
    pytest.importorskip("jax")
    dot = f".{module}" if module else ""
    theirs, mine = (importlib.import_module(m + dot) for m in ("jax", "funcgrad"))
    shared = [
        n for n in getattr(mine, "__all__", dir(mine))
        if callable(getattr(mine, n)) and callable(getattr(theirs, n, None))
    ]  # fmt: skip
    text = "\n".join([*programs(), SHARED, *(f.SETUP for f in FILES if hasattr(f, "SETUP"))])
    text += " ".join(f"{n}(" for n in operators(fg))
    absent = {n for n in shared if not re.search(rf"\b{n}\b", text)}
    assert absent - ELSEWHERE.get(module, set()) == set()


def test_optimisers_are_in_one():
    optax = pytest.importorskip("optax")
    text = "\n".join(programs())
    names = [n for n in fg.optim.__all__ if n[0].islower() and hasattr(optax, n)]
    absent = {n for n in names if not re.search(rf"\b{n}\b", text)}
    used = {  # by the tests themselves
        "apply_updates", "global_norm", "value_and_grad_from_state", "lbfgs",
        "scale_by_backtracking_linesearch", "scale_by_zoom_linesearch",
    }  # fmt: skip
    assert absent - used == set()
