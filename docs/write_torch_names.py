"""Write the page that lists PyTorch's public names: here, refused (why), or missing.

python docs/write_torch_names.py page.md
python docs/write_torch_names.py --list        print `funcgrad/torch/names.py` anew; needs PyTorch
"""

from __future__ import annotations

import importlib
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

HEAD = """# Names of PyTorch

The public names of PyTorch {version}, module by module, and what `funcgrad.torch` has of them. A
name that is not here raises an `AttributeError` that says which of the three it is.
"""
MODULES = [
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
    "torch.nn.utils.prune", "torch.optim", "torch.optim.lr_scheduler", "torch.linalg", "torch.fft",
    "torch.special", "torch.autograd", "torch.func", "torch.utils.data", "torch.distributions",
    "torch.testing",
]  # fmt: skip
# what a module has imported for itself, and is documented nowhere
LEFTOVERS = set(
    """ABC Any Callable DType Enum Iterable Optional PRIVATE_OPS TYPE_CHECKING Tensor Type
    USE_GLOBAL_DEPS
    USE_RTLD_GLOBAL_WITH_LIBTORCH BroadcastingList1 BroadcastingList2 BroadcastingList3
    abstractmethod assert_int_or_pair boolean_dispatch common_notes factory_kwargs get_file_path
    merge_type_from_type_comment parse_type_comment reproducibility_notes sparse_support_notes
    swap_in_optimizer_params_and_state tf32_notes torch typename handle_torch_function
    has_torch_function has_torch_function_unary has_torch_function_variadic
    prepare_multiprocessing_environment unify_type_list classproperty
    profiler_allow_cudagraph_cupti_lazy_reinit_cuda12""".split()  # noqa: SIM905
)


# those that its manual describes; which others `dir` shows depends on what has been imported
DOCUMENTED = set(
    """accelerator amp ao autograd backends compiler cpu cuda distributed distributions export fft
    func functional futures fx hub jit library linalg masked monitor mps mtia multiprocessing nested
    nn optim overrides package profiler random signal sparse special testing types utils version
    xpu""".split()  # noqa: SIM905
)


def owner(title: str, root: str) -> Any:
    """A module, or the class `Tensor`, of PyTorch or of funcgrad.torch; None if it is not there."""
    path = title.split(".")[1:]
    try:
        found = importlib.import_module(root)
        for part in path:
            inner = getattr(found, part, None)
            found = inner or importlib.import_module(f"{found.__name__}.{part}")
    except (ImportError, AttributeError):
        return None
    return found


def public(title: str) -> list[str]:
    """The names of PyTorch that a program may use."""
    found = owner(title, "torch")
    listed = None if title in ("torch", "torch.Tensor") else getattr(found, "__all__", None)
    names = [n for n in listed or dir(found) if not n.startswith("_") and n not in LEFTOVERS]
    modules = DOCUMENTED if title == "torch" else set()
    return sorted(modules.union(n for n in names if _is_own(getattr(found, n, None))))


def _is_own(value: Any) -> bool:
    from_typing = str(getattr(value, "__module__", "")).startswith("typing")
    return not isinstance(value, types.ModuleType) and not from_typing


def print_list() -> None:
    """The text of `funcgrad/torch/names.py`."""
    import torch

    print('"""The public names of PyTorch; `docs/write_torch_names.py --list` prints this."""\n')
    print(f'VERSION = "{torch.__version__.split("+")[0]}"\nNAMES = {{')
    for title in MODULES:
        text = textwrap.fill(" ".join(public(title)), 96, break_long_words=False)
        print(f'    "{title}": """\n{textwrap.indent(text, "    ")}\n    """,')
    print("}")


def section(title: str) -> tuple[tuple[int, ...], str]:
    """One module: how many names there are, here, refused and missing, and the lists."""
    from funcgrad.torch.absent import reason
    from funcgrad.torch.names import NAMES

    found, names = owner(title, "funcgrad.torch"), NAMES[title].split()
    here = [n for n in names if found is not None and hasattr(found, n)]
    refused: dict[str, list[str]] = {}
    missing = []
    for name in sorted(set(names) - set(here)):
        why = reason(title, name)
        refused.setdefault(why, []).append(name) if why else missing.append(name)
    lines = [f"## {title}", "", f"**Here.** {_listed(here)}", ""]
    for why, which in sorted(refused.items()):
        lines += [f"**Refused:** {why}. {_listed(which)}", ""]
    if missing:
        lines += [f"**Missing.** {_listed(missing)}", ""]
    counts = (len(names), len(here), sum(map(len, refused.values())), len(missing))
    return counts, "\n".join(lines)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names) or "none"


def page() -> str:
    """The whole page."""
    from funcgrad.torch.names import VERSION

    found = {title: section(title) for title in MODULES}
    table = ["| module | names | here | refused | missing |", "|---|---|---|---|---|"]
    for title, (counts, _) in found.items():
        anchor = title.lower().replace(".", "")
        table.append(f"| [{title}](#{anchor}) | {' | '.join(map(str, counts))} |")
    head = HEAD.format(version=VERSION)
    return "\n".join([head, *table, "", *(text for _, text in found.values())])


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print_list()
    else:
        Path(sys.argv[1]).write_text(page())
