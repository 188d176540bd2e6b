"""What views show, in memory of its own: ``permute_copy`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import contiguous_format
from funcgrad.torch.operations.complexes import view_as_complex, view_as_real

__all__ = [
    "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "permute_copy",
    "select_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
    "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_as_complex_copy",
    "view_as_real_copy", "view_copy",
]  # fmt: skip


def _copying(name: str, view: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function that copies what a view shows, by default the view that a method gives."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = (view or getattr(type(input), name))(input, *args, **kwargs)
        if isinstance(found, Tensor):
            return found.clone(memory_format=contiguous_format)
        return tuple(x.clone(memory_format=contiguous_format) for x in found)

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"What `{name}` shows, in memory of its own."
    return function


alias_copy = _copying("alias", lambda x: x)
as_strided_copy = _copying("as_strided")
detach_copy = _copying("detach")
diagonal_copy = _copying("diagonal")
expand_copy = _copying("expand")
permute_copy = _copying("permute")
select_copy = _copying("select")
split_copy = _copying("split")
split_with_sizes_copy = _copying("split_with_sizes")
squeeze_copy = _copying("squeeze")
t_copy = _copying("t")
transpose_copy = _copying("transpose")
unbind_copy = _copying("unbind")
unfold_copy = _copying("unfold")
unsqueeze_copy = _copying("unsqueeze")
view_copy = _copying("view")
view_as_complex_copy = _copying("view_as_complex", view_as_complex)
view_as_real_copy = _copying("view_as_real", view_as_real)
