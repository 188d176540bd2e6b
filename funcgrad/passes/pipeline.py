"""The order of the passes, and a hook that looks at the graph after each (the tests verify it)."""

from __future__ import annotations

from collections.abc import Callable

from funcgrad.graph.ir import Graph
from funcgrad.passes.chains import chains
from funcgrad.passes.common import common_subexpressions
from funcgrad.passes.components import components
from funcgrad.passes.constants import constants
from funcgrad.passes.contractions import contractions
from funcgrad.passes.dead_code import dead_code
from funcgrad.passes.expand import expand
from funcgrad.passes.fission import fission
from funcgrad.passes.identities import identities
from funcgrad.passes.indexing import one_hot, sink_gathers
from funcgrad.passes.long_axes import long_axes
from funcgrad.passes.long_sums import long_sums
from funcgrad.passes.loop_outputs import loop_outputs
from funcgrad.passes.products import products
from funcgrad.passes.recurrences import Form, recurrences
from funcgrad.passes.short_axes import short_axes
from funcgrad.passes.simplify import simplify
from funcgrad.passes.slices import slices
from funcgrad.passes.sums_of_products import sums_of_products

__all__ = ["PASSES", "optimize"]

PASSES: tuple[Callable[[Graph], Graph], ...] = (
    dead_code,
    loop_outputs,
    recurrences,
    fission,
    loop_outputs,
    dead_code,
    expand,
    slices,
    contractions,
    long_sums,
    products,
    components,
    identities,
    constants,
    simplify,
    one_hot,
    sink_gathers,
    simplify,
    chains,
    sums_of_products,
    dead_code,
    long_axes,
    short_axes,
    constants,
    common_subexpressions,
    dead_code,
)


def optimize(
    graph: Graph,
    look: Callable[[str, Graph], None] | None = None,
    form: Form = Form.EITHER,
) -> Graph:
    """The graph after all passes; `look` is shown the graph after each.

    In the `form` that is `Form.FINITE` it holds loops that only kernels can run.
    """
    for apply in PASSES:
        graph = recurrences(graph, form) if apply is recurrences else apply(graph)
        if look is not None:
            look(apply.__name__, graph)
    return graph
