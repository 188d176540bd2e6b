"""`Optimizer`: groups of parameters with their settings, and the state of each parameter.

The steps of the optimisers run on the arrays of the parameters (`kernels.updates`). Nothing is
recorded; each counts the version of a parameter as often as PyTorch's operations do.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.dtypes import bfloat16
from funcgrad.torch.hooks import RemovableHandle, add_hook
from funcgrad.torch.modes import enable_grad, modes, no_grad
from funcgrad.torch.narrow import settle
from funcgrad.torch.nn.modules.members import typename
from funcgrad.torch.nn.modules.module import clear_grad
from funcgrad.torch.optim.repeated import Repeated, Rule
from funcgrad.torch.optim.updates import (
    Array,
    Move,
    carry_out,
    counted,
    counter,
    held,
    opened,
    zeros_like,
)
from funcgrad.torch.root import RootTracer
from funcgrad.torch.tensor_arrays import as_array

__all__ = ["Optimizer", "required"]

Group = dict[str, Any]
Closure = Callable[[], Any]


class Required:
    """In the place of a default that has to be given."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()
step_pre_hooks: OrderedDict[int, Any] = OrderedDict()  # of all optimisers
step_post_hooks: OrderedDict[int, Any] = OrderedDict()
HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)
# What is known of steps that come again. It is no state of an optimiser: neither what copies it nor
# what compiles a step of it is to follow it.
_known_steps: WeakKeyDictionary[Any, dict[int, Repeated]] = WeakKeyDictionary()


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the hooks around it."""

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if step_pre_hooks or self._optimizer_step_pre_hooks:
            for hook in [*step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
                result = hook(self, args, kwargs)
                if result is not None:
                    if not isinstance(result, tuple) or len(result) != 2:
                        raise RuntimeError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but "
                            f"got {result}."
                        )
                    args, kwargs = result
        out = step(*args, **kwargs)
        _settle(self)
        if step_post_hooks or self._optimizer_step_post_hooks:
            for hook in [*self._optimizer_step_post_hooks.values(), *step_post_hooks.values()]:
                hook(self, args, kwargs)
        return out

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


def _settle(optimizer: Optimizer) -> None:
    """Round what a step has written into parameters and state of bfloat16."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            t = p._t
            if type(t) is RootTracer and t.kind is not None:
                continue  # the usual case: of floats that NumPy has
            if p.dtype is bfloat16:
                for x in (p, *optimizer.state.get(p, {}).values()):
                    if isinstance(x, Tensor) and x.dtype is bfloat16:
                        settle(as_array(x))


def _prepended(table: OrderedDict[int, Any], hook: Any, prepend: bool) -> RemovableHandle:
    handle = add_hook(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class Optimizer:
    """The base class of optimisers.

    Parameters
    ----------
    params : iterable
        Tensors, pairs (name, tensor), or dictionaries, each with the tensors of a group under
        ``"params"`` and its own settings.
    defaults : dict
        The settings of groups that do not have them.

    Raises
    ------
    TypeError, ValueError
        No parameters, a parameter that is no leaf or stands in two groups.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls) -> None:
        step = cls.__dict__.get("step")
        if step is not None and not hasattr(step, "hooked"):
            cls.step = hooked(step)  # type: ignore[method-assign]

    def _make_hooks(self) -> None:
        for name in HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for k, group in enumerate(self.param_groups):
            text += f"\nParameter Group {k}\n"
            for name in sorted(group):
                if name != "params":
                    text += f"    {name}: {group[name]}\n"
        return text + ")"

    # ------------------------------------------------------------------------------ groups

    def add_param_group(self, param_group: Group) -> None:
        """Add a group: its tensors under ``"params"``, and the settings that are its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        listed = [given] if isinstance(given, Tensor) else list(given)
        params = param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in listed]
        names = [p[0] for p in listed if isinstance(p, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            param_group["param_names"] = names
        self._check_params(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_apart(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + typename(p)
                )
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    def _check_apart(self, param_group: Group) -> None:
        params = set(param_group["params"])
        if len(params) != len(param_group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=outside(),
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                how = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {how} to the optimizer"
                )
            if not params.isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    # ------------------------------------------------------------------------------- steps

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of the parameters, and of nothing else.

        Without `set_to_none` zeros are written into them.
        """
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters by their gradients.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients anew; called first.

        Returns
        -------
        The loss, if there is a closure.
        """
        loss = None if closure is None else evaluated(closure)
        for group in self.param_groups:
            self._advance(group)
        return loss

    step = hooked(step)

    def _advance(self, group: Group) -> None:
        """Change the parameters of a group."""
        rule = self._rule(group) if modes.stage is None else None
        again = None if rule is None else self._repeated(group)
        if rule is not None and again is not None and again.step(rule, self.state):
            return
        pairs = [(p, p.grad) for p in group["params"]]
        found = [(p, held(g)) for p, g in pairs if g is not None]
        with np.errstate(all="ignore"):  # an overflow shows in the numbers, as in PyTorch
            carry_out(self._moves(found, group), sum([g.size for _, g in found]))
        if rule is not None and again is not None:
            again.prepare(rule, self.state)

    def _repeated(self, group: Group) -> Repeated:
        """What is known of the steps of a group."""
        known = _known_steps.get(self)
        if known is None:
            known = _known_steps[self] = {}
        found = known.get(id(group))
        if found is None or found.group is not group:
            if len(known) > len(self.param_groups):  # groups that a loaded state has replaced
                known.clear()
            found = known[id(group)] = Repeated(group)
        return found

    def _rule(self, group: Group) -> Rule | None:
        """What each step does with the parameters of a group; None if that depends on more."""
        return None

    def _begin(self, p: Tensor, group: Group, rule: Rule) -> dict[str, Any]:
        """The state of a parameter before the first step."""
        return {"step": counter(), **{name: zeros_like(p) for name in rule.state}}

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        """The step of each parameter with its gradient; of complex ones the parts are taken."""
        rule = self._rule(group)
        if rule is None:
            raise NotImplementedError
        known: Any = None  # the number of steps for which `numbers` are
        for p, g in found:
            state = self.state[p]
            if not state:
                state.update(self._begin(p, group, rule))
            step: Any = counted(state)
            if isinstance(step, Tracer) or step != known:
                numbers, known = rule.numbers(step), step
            arrays = [held(state[name]) for name in rule.state]
            yield Move(rule.name, (opened(p, rule.versions), g, *arrays), numbers)

    # ------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """The state of the parameters by number, and the groups; tensors are not copied."""
        for hook in list(self._hooks("state_dict_pre").values()):
            hook(self)
        number: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for k, p in enumerate(group["params"], start):
                number.setdefault(id(p), k)
            start += len(group["params"])
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append({**packed, "params": [number[id(p)] for p in group["params"]]})
        state = {number[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._hooks("state_dict_post").values()):
            result = hook(self, found)
            found = found if result is None else result
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` has given.

        Raises
        ------
        ValueError
            Groups of other numbers of parameters.
        """
        given = state_dict.copy()
        for hook in list(self._hooks("load_state_dict_pre").values()):
            result = hook(self, given)
            given = given if result is None else result
        groups, saved = self.param_groups, deepcopy(given["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        params = dict(
            zip(
                chain.from_iterable(s["params"] for s in saved),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for k, v in given["state"].items():
            state[params.get(k, k)] = _converted(params[k], v) if k in params else v
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._hooks("load_state_dict_post").values()):
            hook(self)

    # ------------------------------------------------------------------------------- hooks

    def _hooks(self, which: str) -> OrderedDict[int, Any]:
        found: OrderedDict[int, Any] = self.__dict__[f"_optimizer_{which}_hooks"]
        return found

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return both anew."""
        return add_hook(self._hooks("step_pre"), hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return add_hook(self._hooks("step_post"), hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict` looks."""
        return _prepended(self._hooks("state_dict_pre"), hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)``; what it returns takes its place."""
        return _prepended(self._hooks("state_dict_post"), hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` first; what it returns is loaded instead."""
        return _prepended(self._hooks("load_state_dict_pre"), hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state has been taken over."""
        return _prepended(self._hooks("load_state_dict_post"), hook, prepend)


def register_optimizer_step_pre_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimiser."""
    return add_hook(step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimiser."""
    return add_hook(step_post_hooks, hook)


def evaluated(closure: Closure) -> Any:
    """What a closure returns; its operations are recorded."""
    with enable_grad():
        return closure()


def _converted(p: Tensor, value: Any, name: Any = None) -> Any:
    """State that has been loaded, in the dtype of its parameter; the count of steps as it is."""
    if isinstance(value, Tensor):
        if name == "step" or not (p.is_floating_point() or p.is_complex()):
            return value
        with no_grad():
            return value.to(p.dtype)
    if isinstance(value, dict):
        return {k: _converted(p, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_converted(p, v) for v in value)  # type: ignore[call-arg]
    return value
