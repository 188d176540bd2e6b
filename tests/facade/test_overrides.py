"""Classes of tensors, and what they answer for functions and methods, beside PyTorch."""

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same


def plain(torch, say):
    class Kind(torch.Tensor):
        pass

    x = torch.arange(4.0).reshape(2, 2).as_subclass(Kind)
    for call in (
        lambda: x + 1, lambda: 1 - x, lambda: x * torch.ones(2, 2), lambda: torch.add(x, 1),
        lambda: x.sum(), lambda: torch.cat([x, torch.ones(1, 2)]), lambda: x[0], lambda: x.clone(),
        lambda: x.max(0).values, lambda: torch.linalg.inv(x + torch.eye(2)), lambda: x == 2,
        lambda: torch.nn.functional.relu(x), lambda: torch.nn.Linear(2, 1)(x), lambda: x.t(),
        lambda: x.as_subclass(torch.Tensor), lambda: x.split(1)[0], lambda: torch.zeros_like(x),
        lambda: torch.fft.fft(x), lambda: torch.special.erf(x), lambda: x.new_zeros(2),
        lambda: torch.nn.Parameter(torch.ones(2)) * x, lambda: x.add_(1), lambda: -x,
    ):  # fmt: skip
        say(type(call()).__name__)
    say(type(x.tolist()).__name__, x.size(), isinstance(x, torch.Tensor), x.shape, float(x[0, 0]))
    w = torch.ones(2, requires_grad=True)
    y = w.as_subclass(Kind)
    loss = (y * y).sum()
    loss.backward()
    say(type(loss).__name__, loss.item(), w.grad, y.requires_grad)


def test_results_are_of_the_class():
    same(plain)


def answering(torch, say):
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            say(func.__name__, [t.__name__ for t in types], len(args), sorted(kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs or {})

    class More(Told):
        pass

    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.ones(2).as_subclass(Told)
    y = torch.ones(2).as_subclass(More)
    say(type(torch.mul(x, 2)).__name__)
    say(type(torch.mul(x, y)).__name__)
    say(type(torch.sum(input=y, dim=0)).__name__)
    say(type(x.exp()).__name__)
    say(type(torch.stack([x, y])).__name__)
    say(type(torch.nn.functional.softplus(x)).__name__)
    z = torch.ones(2).as_subclass(Refusing)
    for call in (lambda: torch.add(z, 1), lambda: torch.add(torch.ones(2), z)):
        try:
            call()
        except TypeError as error:
            say(str(error).partition(";")[0])
    for other in (int, 3):
        try:
            torch.ones(1).as_subclass(other)
        except TypeError as error:
            say(error)


def test_classes_are_asked():
    same(answering)


def operators(torch, say):
    told = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((func.__name__, func is getattr(torch.Tensor, func.__name__)))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Told)
    for call in (
        lambda: x + 1, lambda: 1 + x, lambda: x - 1, lambda: x * 2, lambda: 2 * x, lambda: x / 2,
        lambda: x % 2, lambda: x @ x, lambda: x != x, lambda: x < 1, lambda: x >= 1,
        lambda: x > 1, lambda: x <= 1, lambda: x[0], lambda: -x, lambda: +x, lambda: abs(x),
        lambda: x.split(1)[0], lambda: x.storage_offset(), lambda: x.type(torch.float64),
    ):  # fmt: skip
        say(type(call()).__name__)
    x += 1
    x[0] = 5
    say(*told)
    say(type(x**2).__name__)
    for call in (lambda: x + "a", lambda: x < None, lambda: x - None, lambda: x.add("a")):
        try:
            call()
            say("no error")
        except TypeError:
            say("a TypeError")


def test_operators_ask_for_the_methods_that_pytorch_asks_for():
    same(operators)


def beside_others(torch, say):
    class Kind(torch.Tensor):
        pass

    class Right:
        def __radd__(self, other):
            return type(other).__name__

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Kind)
    say(x == None, x != None, x + Right())  # noqa: E711
    array = np.ones(2, np.float32)
    warnings.simplefilter("ignore")  # of NumPy's, about PyTorch
    say(*(type(y).__name__ for y in (x + array, x - array, x @ array, x * np.float32(2))))


def test_operators_leave_what_they_do_not_know_to_the_other_operand():
    same(beside_others)


def properties(torch, say):
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            say(func.__name__, [p for p in PARTS if getattr(torch.Tensor, p).__get__ == func])
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Told)
    for part in PARTS:
        say(type(getattr(x, part)).__name__)


PARTS = ("T", "mT", "H", "mH", "real", "data")


def test_properties_that_are_tensors_ask_and_keep_the_class():
    same(properties)


def test_functions_are_known_by_identity():
    seen = {}

    class Counted(ours.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen[func] = seen.get(func, 0) + 1
            return super().__torch_function__(func, types, args, kwargs)

    x = ours.ones(2).as_subclass(Counted)
    ours.add(x, x), x.mul(2), ours.nn.functional.relu(x)
    assert seen == {ours.add: 1, ours.Tensor.mul: 1, ours.nn.functional.relu: 1}
    assert ours.overrides.resolve_name(ours.add) == "torch.add"
    assert ours.overrides.resolve_name(ours.Tensor.mul) == "torch.Tensor.mul"
    assert ours.overrides.has_torch_function([x])
    assert not ours.overrides.has_torch_function([ours.ones(2), ours.nn.Parameter(ours.ones(1))])
    with ours.overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is ours.Tensor


def test_objects_that_are_no_tensors_answer_too():
    class Answer:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args

    class Kind(ours.Tensor):
        pass

    answer = Answer()
    assert ours.overrides.is_tensor_like(answer) and Kind
    assert ours.add(answer, 2) == ("add", (answer, 2))


def test_classes_within_transforms_and_compiled_programs():
    class Kind(ours.Tensor):
        pass

    x = ours.arange(3.0).as_subclass(Kind)
    np.testing.assert_array_equal(ours.vmap(lambda v: v * 2)(x).numpy(), [0, 2, 4])
    with pytest.warns(UserWarning, match="runs eagerly: the result is a Kind"):
        np.testing.assert_array_equal(ours.compile(lambda v: v * 2)(x).numpy(), [0, 2, 4])
    np.testing.assert_array_equal(ours.func.grad(lambda v: (v * v).sum())(x).numpy(), [0, 2, 4])
