"""A state machine puts transforms around each other, in any order, and looks at every step.

After each step the function agrees with what its outermost operator means, by values of the
function within alone; eagerly, compiled and mapped. What `stop_gradient` hides from differences,
JAX tells, with whose modules the same nests are run (`like_jax/test_nests_like_jax.py`).
"""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from nesting import DERIVATIVES, POOL, X, differences, function, operators, own_operators
from strategies import derandomized

import funcgrad as fg

OPERATORS = operators(fg) | own_operators()
PLAIN = sorted(set(OPERATORS) - set(DERIVATIVES))
MOST = 3  # derivatives of derivatives
DEEPEST = 6


class Nests(RuleBasedStateMachine):
    @initialize(name=st.sampled_from(sorted(POOL)), shift=st.integers(-16, 16))
    def begin(self, name, shift):
        self.f, self.x = function(fg, name, fg.at), X + shift / 160.0
        self.names, self.order, self.stopped = [name], 0, False

    def put(self, name):
        inner = self.f
        self.f = OPERATORS[name](inner)
        self.names.append(name)
        self.order += DERIVATIVES.get(name, 0)
        found = self.f(self.x)
        by_values = name in PLAIN
        if differences[name] is not None and (by_values or not self.stopped):
            expected = differences[name](inner, self.x)
            rounding = 1e-12 if by_values else 1e-6
            self.near(found, expected, rounding, "the operator")
        self.stopped |= name == "stopped"

    def near(self, found, expected, rtol, what):
        scale = float(np.max(np.abs(expected)))
        message = f"{what} of {' < '.join(self.names)}"
        np.testing.assert_allclose(found, expected, rtol, rtol * max(scale, 1.0), err_msg=message)

    @precondition(lambda self: len(self.names) <= DEEPEST)
    @rule(name=st.sampled_from(PLAIN))
    def surround(self, name):
        self.put(name)

    @precondition(lambda self: len(self.names) <= DEEPEST)
    @rule(name=st.sampled_from(sorted(DERIVATIVES)))
    def differentiate(self, name):
        if self.order + DERIVATIVES[name] <= MOST:
            self.put(name)

    @rule(other=st.sampled_from(sorted(POOL)))
    def compose(self, other):
        inner, outer = self.f, function(fg, other, fg.at)
        self.f = lambda x: outer(0.3 * inner(x) + 0.5 * x)
        self.names.append(f"then {other}")

    @rule()
    def compiled(self):
        self.near(fg.jit(self.f)(self.x), self.f(self.x), 1e-9, "jit")

    @rule()
    def of_examples(self):
        examples = np.stack([self.x, 0.9 * self.x])
        expected = np.stack([self.f(v) for v in examples])
        self.near(fg.vmap(self.f)(examples), expected, 1e-9, "vmap")

    @rule()
    def both_modes(self):
        if self.order < MOST:
            forward, reverse = (mode(self.f)(self.x) for mode in (fg.jacfwd, fg.jacrev))
            self.near(forward, reverse, 1e-9, "both modes")


Nests.TestCase.settings = settings(derandomized(60), stateful_step_count=8)
TestNests = Nests.TestCase
