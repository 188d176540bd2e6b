"""The state of a module as a dictionary of tensors, and taking one over."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.hooks import RemovableHandle
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.modules.global_hooks import Table, add
from funcgrad.torch.nn.modules.members import Members
from funcgrad.torch.nn.parameter import Parameter, is_lazy

__all__ = ["IncompatibleKeys", "State"]

EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class State(Members):
    """The part of `Module` that saves and loads."""

    _version = 1
    _state_dict_hooks: Table
    _state_dict_pre_hooks: Table
    _load_state_dict_pre_hooks: Table
    _load_state_dict_post_hooks: Table

    def get_extra_state(self) -> Any:
        """To be overridden: what `state_dict` has of this module beside tensors."""
        raise RuntimeError("get_extra_state is called only where a class overrides it")

    def set_extra_state(self, state: Any) -> None:
        """To be overridden: takes over what `get_extra_state` gave."""
        raise RuntimeError("set_extra_state is called only where a class overrides it")

    # ----------------------------------------------------------------------------- saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The parameters and persistent buffers by name, detached; they share memory.

        Parameters
        ----------
        destination : dict, optional
            Where to put them.
        prefix : str, optional
            The beginning of each name.
        keep_vars : bool, optional
            Whether the tensors themselves are given instead of detached ones.

        Examples
        --------
        >>> import funcgrad.torch as torch
        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                "state_dict for details.",
                FutureWarning,
                stacklevel=outside(),
            )
            given = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in list(self._state_dict_hooks.values()):
            if hook(self, destination, prefix, local) is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, x in [*self._parameters.items(), *self._persistent_buffers()]:
            if x is not None:
                destination[prefix + name] = x if keep_vars else x.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _persistent_buffers(self) -> list[tuple[str, Tensor | None]]:
        left_out = self._non_persistent_buffers_set
        return [(name, x) for name, x in self._buffers.items() if name not in left_out]

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` looks."""
        return add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)``, which may change it."""
        return add(self._state_dict_hooks, hook)

    # ---------------------------------------------------------------------------- loading

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook` before a state is taken over.

        It gets the module, the state, the prefix, the metadata, `strict` and the lists of missing
        keys, unexpected keys and errors.
        """
        return add(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` afterwards, which may change the lists."""
        return add(self._load_state_dict_post_hooks, hook)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the tensors of `state_dict` into the parameters and buffers.

        Parameters
        ----------
        state_dict : dict
            As `state_dict` gives it.
        strict : bool, optional
            Whether missing and unexpected keys are an error.
        assign : bool, optional
            Whether the tensors take the place of the parameters instead of being copied.

        Returns
        -------
        IncompatibleKeys
            The lists `missing_keys` and `unexpected_keys`.

        Raises
        ------
        RuntimeError
            Shapes that differ; missing or unexpected keys with `strict`. All are listed.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        found = Loading(getattr(state_dict, "_metadata", None), assign)
        found.load(self, OrderedDict(state_dict), "")
        if strict and found.unexpected:
            keys = ", ".join(f'"{k}"' for k in found.unexpected)
            found.errors.insert(0, f"Unexpected key(s) in state_dict: {keys}. ")
        if strict and found.missing:
            keys = ", ".join(f'"{k}"' for k in found.missing)
            found.errors.insert(0, f"Missing key(s) in state_dict: {keys}. ")
        if found.errors:
            listed = "\n\t".join(found.errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {self._get_name()}:\n\t{listed}"
            )
        return IncompatibleKeys(found.missing, found.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take over what belongs to this module itself."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys,
                 unexpected_keys, error_msgs)  # fmt: skip
        members = {
            name: x
            for name, x in [*self._parameters.items(), *self._persistent_buffers()]
            if x is not None
        }
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        for name, x in members.items():
            key = prefix + name
            if key in state_dict:
                problem = self._take(key, name, x, state_dict[key], assign)
                error_msgs += [] if problem is None else [problem]
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA
        overridden = type(self).set_extra_state is not State.set_extra_state
        if overridden and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif overridden and strict:
            missing_keys.append(extra)
        if strict:
            known = {*members, EXTRA} if overridden else set(members)
            for key in state_dict:
                if key.startswith(prefix):
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else known):
                        unexpected_keys.append(key)

    def _take(self, key: str, name: str, x: Tensor, given: Any, assign: bool) -> str | None:
        """Copy or assign one tensor; what went wrong, if anything."""
        if is_lazy(x) and is_lazy(given):
            return None
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(given)}"
            )
        if x.shape == () and given.shape == (1,):
            given = given[0]  # a scalar as PyTorch 0.3 saved it
        if given.shape != x.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {x.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    x.copy_(given)
                    return None
                if isinstance(x, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(x.requires_grad)
                    else:
                        given = Parameter(given, x.requires_grad)
                setattr(self, name, given)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{x.size()} and whose dimensions in the checkpoint are {given.size()}, an "
                f"exception occurred : {error.args}."
            )
        return None


class Loading:
    """What comes together while the modules take over their parts of a state."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata, self.assign = metadata, assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state: Any, prefix: str) -> None:
        local = {} if self.metadata is None else dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state, prefix, local, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state.items() if k.startswith(path)}, path)
        keys = IncompatibleKeys(self.missing, self.unexpected)
        for hook in list(module._load_state_dict_post_hooks.values()):
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )
