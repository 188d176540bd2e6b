"""What operations require of their arguments, as text."""

import ast
import builtins
import sys

import pytest

import funcgrad.torch as ours
from funcgrad.torch.operations.requirements import WORDS, read, requirements, requires


def test_a_requirement_is_a_condition_a_class_and_a_text():
    first, second = read("""
        n > 0: n is {n},
            but not {m[0]: d}
        n in (1, 2): ValueError: only 1: or 2
    """)
    assert first == ("n > 0", "RuntimeError", "n is {n}, but not {m[0]: d}")
    assert second == ("n in (1, 2)", "ValueError", "only 1: or 2")


def test_requirements_are_checked_in_their_order_before_the_function_runs():
    ran = []

    @requires("""
        n > 0: n is {n}
        rank(x) == m: IndexError: {sizes(x)} has no {m} dimensions
    """)
    def function(x, n=1, *, m=2):
        ran.append((n, m))
        return x

    x = ours.ones(2, 3)
    assert function(x) is x
    assert function(x[0], 5, m=1).shape == (3,)
    with pytest.raises(RuntimeError, match=r"^n is 0$"):
        function(x[0], 0)
    with pytest.raises(IndexError, match=r"^\[3\] has no 2 dimensions"):
        function(x[0])
    with pytest.raises(TypeError, match=r"^function\(\) missing 1 required positional"):
        function()
    assert ran == [(1, 2), (5, 1)]


def test_requirements_alone_are_a_function_of_their_names():
    check = requirements("n, most", "n < most: '{n}' is not below \"{most}\"")
    check(1, 2)
    with pytest.raises(RuntimeError, match=r"^'2' is not below \"2\"$"):
        check(2, 2)


def written():
    """The names and the text of all requirements of the facade."""
    found = {}
    for name, module in [*sys.modules.items()]:
        if not name.startswith("funcgrad.torch"):
            continue
        for value in vars(module).values():
            record = getattr(value, "operation", None)
            for has in (value, getattr(record, "rule", None)):
                text = vars(has).get("requires") if type(has) is type(written) else None
                if text:
                    found[text] = _names(has)
    return found


def _names(function):
    given = getattr(function, "names", None)
    if given is not None:
        return {name.strip() for name in given.split(",")}
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    return {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}


def test_all_requirements_are_of_names_that_there_are():
    found = written()
    assert len(found) > 20
    for text, names in found.items():
        for condition, error, said in read(text):
            tree = ast.parse(f"({condition}, f{said!r})")
            loaded = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
            bound = {node.id for node in loaded if isinstance(node.ctx, ast.Store)}
            known = {*names, *WORDS, *vars(builtins), *bound}
            assert {node.id for node in loaded} <= known, (text, condition)
            called = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert not called & names, "an argument hides a word"
            assert issubclass(getattr(builtins, error), Exception)
