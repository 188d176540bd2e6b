"""``funcgrad.scipy.stats``: SciPy's distributions and statistics for plain and traced arrays.

The distributions are SciPy's own objects, whose methods take traced values.

Examples
--------
>>> import numpy as np
>>> import scipy.stats
>>> import funcgrad as fg
>>> data = np.array([1.0, 2.0, 4.0])
>>> def likelihood(mean, deviation):
...     return np.sum(scipy.stats.norm(mean, deviation).logpdf(data))
>>> fg.grad(likelihood)(2.0, 1.0)
np.float64(1.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scipy.stats

from funcgrad.errors import suggest_names
from funcgrad.scipy.programs import KNOWN
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.stats import kernel_density  # noqa: F401 (SciPy's own class comes to it)
from funcgrad.scipy.stats.data import hmean, linregress, percentileofscore, rankdata, spearmanr
from funcgrad.scipy.stats.distributions import ROWS
from funcgrad.scipy.stats.multivariate import RECORDS

_SEVERAL = [*sorted({name for name, _ in RECORDS}), "gaussian_kde"]
_PROGRAMS = sorted(n.rpartition(".")[2] for n in KNOWN if n.startswith("scipy.stats."))
globals().update({n: getattr(scipy.stats, n) for n in (*ROWS, *_SEVERAL, *_PROGRAMS)})

__all__ = [
    "hmean",
    "linregress",
    "percentileofscore",
    "rankdata",
    "spearmanr",
    *ROWS,
    *_SEVERAL,
    *_PROGRAMS,
]

if TYPE_CHECKING:  # the tables define names that a checker does not see

    def __getattr__(name: str) -> Any: ...

else:
    suggest_names(__name__, reason=why_not(__name__))
