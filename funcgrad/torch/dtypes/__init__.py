"""The dtypes of ``torch``, their names and limits, and the rules by which they are promoted."""

from funcgrad.torch.dtypes.kinds import (
    bfloat16,
    bool,
    c_name,
    cdouble,
    cfloat,
    complex64,
    complex128,
    default_complex_dtype,
    double,
    dtype,
    float,
    float16,
    float32,
    float64,
    from_numpy_dtype,
    from_type_name,
    get_default_dtype,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    scalar_name,
    set_default_dtype,
    short,
    type_name,
    uint8,
)
from funcgrad.torch.dtypes.limits import finfo, iinfo
from funcgrad.torch.dtypes.promotion import (
    Category,
    Operand,
    can_cast,
    floating_dtype,
    number_dtype,
    promote_types,
    result_dtype,
)

__all__ = [
    "Category", "Operand", "bfloat16", "bool", "c_name", "can_cast", "cdouble", "cfloat",
    "complex64", "complex128", "default_complex_dtype", "double", "dtype", "finfo", "float",
    "float16", "float32", "float64", "floating_dtype", "from_numpy_dtype", "from_type_name",
    "get_default_dtype", "half", "iinfo", "int", "int8", "int16", "int32", "int64", "long",
    "number_dtype", "promote_types", "result_dtype", "scalar_name", "set_default_dtype",
    "short", "type_name", "uint8",
]  # fmt: skip
