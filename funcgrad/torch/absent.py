"""What is said of a name that is not here: refused (why), not written yet, or misspelt."""

from __future__ import annotations

import importlib
import re
import sys
import types
from typing import Any, NoReturn

from funcgrad.core.boundary import bound_class, bound_names, lookup
from funcgrad.core.tracer import Operand
from funcgrad.errors import nearest
from funcgrad.torch.size import Size

__all__ = ["absent", "reason"]

INTERNAL = "it belongs to PyTorch's own compilers and internals; funcgrad.torch.compile compiles"
GIVEN_UP = "PyTorch has given it up itself"
# Patterns of whole names, in the order in which they are asked.
REFUSED: dict[str, str] = {
    r"(to_|is_)?sparse.*|.*_sparse_?|.*(ccol|crow|col|row)_indices(_copy)?|SparseAdam|coalesce|"
    r"is_coalesced|(d|hs|hsp|s|sp|ss?p?add|sadd)mm|to_dense|dense_dim|indices(_copy)?|"
    r"values(_copy)?|sparse_dim|smm|sspaddmm": "only dense tensors are supported",
    r".*quant.*|q(u?int)\w*|q_.*|qscheme|int_repr|per_(channel|tensor).*|fbgemm.*|ao": (
        "quantised tensors are not supported"
    ),
    r"float8.*|float4.*|u?int[1-7]|bits\d.*|complex32|chalf|uint(16|32|64)|scaled_.*mm|"
    r"scaled_mm|ScalingType|SwizzleType": "NumPy has no such dtype",
    r"cudnn.*|miopen.*|.*mkldnn.*|xpu|mps|mtia|ipu|is_(cuda|xpu|ipu|maia|mtia|vulkan|xla|mps)|"
    r"is_vulkan_available|Stream|Event|record_stream|accelerator|AcceleratorError|"
    r"OutOfMemoryError|SyncBatchNorm|.*_(xla|ipu)_.*|batch_norm_(elemt|stats|gather.*|backward.*|"
    r"update_stats)|get_device_module": "there is only the CPU",
    r"jit|.*Script.*|.*Type|Graph|Node|Block|Value|Use|Argument|ArgumentSpec|.*ModuleTypeBuilder|"
    r"AliasDb|Capsule|Code|CompilationUnit|CompleteArgumentSpec|CallStack|Gradient|"
    r"GraphExecutorState|ErrorReport|ExecutionPlan|FileCheck|FunctionSchema|"
    r"IODescriptor|JITException|.*Logger|LoggerBase|OperatorInfo|StaticModule|TracingState|"
    r"DeepCopyMemoTable|DeserializationStorageContext|SerializationStorageContext|AggregationType|"
    r"AVG|SUM|Benchmark.*|ThroughputBenchmark|DisableTorchFunction.*|BufferDict|ModuleDict|ParameterDict|bit|Dispatch.*|ExcludeDispatchKeyGuard|DeviceObjType|"
    r"PyTorchFile.*|StreamObjType|Tag|Future|fork|wait|import_ir_module.*|parse_(ir|schema)|"
    r"FatalError|export|fx|package|library|ops|classes|compiler|futures|cond|while_loop|"
    r"init_num_threads|TypedStorage|reinforce|name|map2_|module_load|"
    r"thread_safe_generator|autocast_(in|de)crement_nesting|choose_.*": INTERNAL,
    r"FileCheck|debug_unwrap|functionalize|enforce_grad_layout_policy": (
        "it serves PyTorch's own compilers"
    ),
    r"set_multithreading_enabled": "a backward pass runs in one thread",
    r"Sym.*|sym_.*": "shapes are numbers here",
    r".*Storage|storage_type|StorageBase|is_storage|from_file|share_memory_|"
    r"is_shared|is_pinned|pin_memory|const_data_ptr|convert_conv.d_weight_memory_format": (
        "memory is NumPy's"
    ),
    r"distributed|is_distributed|DataParallel|monitor|prepare_.*": "there is one process",
    r".*DataPipe|DataChunk|functional_datapipe|guaranteed_datapipes.*|.*runtime_validation.*|"
    r"argument_validation|non_deterministic": "PyTorch has given them up for plain data sets",
    r"nested|NestedIOFunction|is_nested|jagged|to_padded_tensor|masked": (
        "nested and masked tensors are not supported"
    ),
    r"has_(lapack|mkl|openmp|spectral)|compiled_with_.*|cpu|multiprocessing|(get|set)_autocast_gpu_dtype|"
    r"set_num_interop_threads|set_flush_denormal|(get|set)_deterministic_debug_mode|dsmm|to_dlpack|"
    r"hub|profiler|cpp|utils\.cpp_extension|platform|version|windows|textwrap|quasirandom":
        "it serves PyTorch's own installation",
    r"native_.*|.*_affine_grid_generator|norm_except_dim|constant_pad_nd|convolution|conv_tbc|"
    r"rnn_(relu|tanh)|(gru|lstm)(_cell)?|rnn_(relu|tanh)_cell|affine_grid_generator|"
    r"grid_sampler.*|embedding_renorm_|hash_tensor|segment_reduce|embedding_bag|feature_dropout_?|slice_inverse|"
    r"functional|types|index|grad_dtype|grouped_mm": (
        "it is what modules and functions of torch.nn are made of there"
    ),
    r"Container|NLLLoss2d": "PyTorch has kept it for the oldest programs only",
    r"CrossMapLRN2d": "PyTorch's own gradient of it is wrong; LocalResponseNorm is what it means",
    r"lobpcg|volatile|dim_order|solve|eig|symeig|lstsq|matrix_rank|cholesky_.*_old|"
    r"legacy_contiguous_format|resize|resize_as": GIVEN_UP,
}  # fmt: skip
OF_THE_TOP = (INTERNAL, GIVEN_UP)  # names that mean something else in modules below
LAZY = {
    "torch": ("backends", "cuda", "distributions", "testing"),
    "torch.cuda": ("amp",),
    "torch.nn.utils": ("prune",),
}


def reason(theirs: str, name: str) -> str | None:
    """Why a name of one of PyTorch's modules is not meant to be here; None if it may yet come."""
    top = theirs in ("torch", "torch.Tensor")
    for pattern, why in REFUSED.items():
        if re.fullmatch(pattern, name) and (top or why not in OF_THE_TOP):
            return why
    return None


def absent(module: str) -> None:
    """Complete a module that has PyTorch's names: boundaries, ``__dir__`` and ``__getattr__``.

    Errors that leave its functions and classes show lines of the program only. `dir` shows the
    names that PyTorch has. What there is not is imported on use, or it is told why it is not there.
    Both are put into the module as it runs: a type checker would take the second for a promise of
    every name.
    """
    theirs = module.removeprefix("funcgrad.")
    space = vars(sys.modules[module])

    @lookup
    def get(name: str) -> Any:
        if name in LAZY.get(theirs, ()):
            return importlib.import_module(f"{module}.{name}")
        return _refuse(module, theirs, name)

    def names() -> list[str]:
        return sorted({n for n in _of_pytorch(theirs) if n in space}.union(LAZY.get(theirs, ())))

    space.update(__getattr__=get, __dir__=names)
    here = [n for n in names() if n in space]
    bound_names(module, here)
    for name in here:
        _name_where_it_is(space[name], name, module)
    for cls in map(space.get, here):
        if isinstance(cls, type) and not issubclass(cls, (Operand, Size)):
            bound_class(cls, "funcgrad.torch")
    if theirs == "torch":
        known = {*_of_pytorch("torch.Tensor"), *_OF_PYTHON}
        bound_class(space["Tensor"], "funcgrad.torch", known, _QUICK)


_OF_PYTHON = (
    "__iter__",
    "__contains__",
    "__array__",
    "__format__",
    "__reduce_ex__",
    "__deepcopy__",
)
_QUICK = {  # they cannot fail
    *("dim", "ndimension", "numel", "nelement", "element_size", "shape", "dtype", "ndim", "data"),
    *("is_complex", "is_floating_point", "is_inference", "device", "layout", "itemsize", "nbytes"),
    *("requires_grad", "is_leaf", "grad_fn", "grad", "output_nr", "retains_grad", "T"),
    *("is_cpu", "is_cuda", "is_sparse", "is_quantized", "is_meta", "is_mps"),
}


def _name_where_it_is(found: Any, name: str, module: str) -> None:
    """A function of an operation is pickled by the module and the name under which it is public."""
    if isinstance(found, types.FunctionType) and hasattr(found, "operation"):
        named = vars(sys.modules[found.__module__]).get(found.__qualname__)
        if named is not found:
            found.__module__, found.__qualname__ = module, name


def _of_pytorch(theirs: str) -> list[str]:
    """The names of one of PyTorch's modules, its submodules among them."""
    from funcgrad.torch.names import NAMES

    below = [name.rpartition(".") for name in NAMES]
    return [*NAMES.get(theirs, "").split(), *(n for m, _, n in below if m == theirs)]


def _refuse(module: str, theirs: str, name: str) -> NoReturn:
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(text)
    from funcgrad.torch.names import VERSION

    if name in _of_pytorch(theirs):
        why = reason(theirs, name)
        told = f"is not meant to be here: {why}" if why else "is not written yet"
        raise AttributeError(
            f"{text}: {theirs}.{name} of PyTorch {VERSION} {told}. The manual's page 'Names of "
            "PyTorch' lists what there is."
        )
    raise AttributeError(text + nearest(name, dir(sys.modules[module])))
