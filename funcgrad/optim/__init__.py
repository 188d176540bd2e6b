"""Functional optimisers, in the manner of optax: gradient transformations with `init` and `update`.

Parameters are any tree of arrays; nothing is changed in place, and states are trees of arrays, so
a step may be jitted, mapped and differentiated. The rules are those of the facade's optimisers.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> optimizer = fg.optim.chain(
...     fg.optim.clip_by_global_norm(1.0),
...     fg.optim.adamw(fg.optim.cosine_decay_schedule(0.1, 300), weight_decay=0.0),
... )
>>> params = {"w": np.zeros(2), "b": 0.0}
>>> state = optimizer.init(params)
>>> loss = lambda p: np.sum((p["w"] - 1.0) ** 2) + (p["b"] + 2.0) ** 2
>>> for _ in range(300):
...     updates, state = optimizer.update(fg.grad(loss)(params), state, params)
...     params = fg.optim.apply_updates(params, updates)
>>> bool(loss(params) < 1e-4)
True
"""

from funcgrad.core.boundary import publish
from funcgrad.optim.base import (
    EmptyState,
    GradientTransformation,
    MaskedNode,
    MaskedState,
    MultiTransformState,
    ScaleByScheduleState,
    Schedule,
    add_decayed_weights,
    apply_updates,
    chain,
    clip,
    clip_by_global_norm,
    global_norm,
    identity,
    masked,
    multi_transform,
    scale,
    scale_by_learning_rate,
    scale_by_schedule,
    set_to_zero,
)
from funcgrad.optim.lbfgs import (
    LinesearchState,
    ScaleByLBFGSState,
    lbfgs,
    scale_by_backtracking_linesearch,
    scale_by_lbfgs,
    scale_by_zoom_linesearch,
    value_and_grad_from_state,
)
from funcgrad.optim.optimisers import (
    adadelta,
    adagrad,
    adam,
    adamax,
    adamaxw,
    adamw,
    lion,
    nadam,
    nadamw,
    radam,
    rmsprop,
    sgd,
)
from funcgrad.optim.scalings import (
    scale_by_adadelta,
    scale_by_adam,
    scale_by_adamax,
    scale_by_lion,
    scale_by_radam,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
    trace,
)
from funcgrad.optim.schedules import (
    constant_schedule,
    cosine_decay_schedule,
    exponential_decay,
    join_schedules,
    linear_schedule,
    piecewise_constant_schedule,
    polynomial_schedule,
    warmup_constant_schedule,
    warmup_cosine_decay_schedule,
    warmup_exponential_decay_schedule,
)
from funcgrad.optim.states import (
    ScaleByAdaDeltaState,
    ScaleByAdamState,
    ScaleByLionState,
    ScaleByRmsState,
    ScaleByRmsWithCountState,
    ScaleByRssState,
    ScaleByRStdDevState,
    ScaleByRStdDevWithCountState,
    TraceState,
)

__all__ = [
    "EmptyState",
    "GradientTransformation",
    "LinesearchState",
    "MaskedNode",
    "MaskedState",
    "MultiTransformState",
    "ScaleByAdaDeltaState",
    "ScaleByAdamState",
    "ScaleByLBFGSState",
    "ScaleByLionState",
    "ScaleByRStdDevState",
    "ScaleByRStdDevWithCountState",
    "ScaleByRmsState",
    "ScaleByRmsWithCountState",
    "ScaleByRssState",
    "ScaleByScheduleState",
    "Schedule",
    "TraceState",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamaxw",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_global_norm",
    "constant_schedule",
    "cosine_decay_schedule",
    "exponential_decay",
    "global_norm",
    "identity",
    "join_schedules",
    "lbfgs",
    "linear_schedule",
    "lion",
    "masked",
    "multi_transform",
    "nadam",
    "nadamw",
    "piecewise_constant_schedule",
    "polynomial_schedule",
    "radam",
    "rmsprop",
    "scale",
    "scale_by_adadelta",
    "scale_by_adam",
    "scale_by_adamax",
    "scale_by_backtracking_linesearch",
    "scale_by_lbfgs",
    "scale_by_learning_rate",
    "scale_by_lion",
    "scale_by_radam",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_schedule",
    "scale_by_stddev",
    "scale_by_zoom_linesearch",
    "set_to_zero",
    "sgd",
    "trace",
    "value_and_grad_from_state",
    "warmup_constant_schedule",
    "warmup_cosine_decay_schedule",
    "warmup_exponential_decay_schedule",
]

publish(__name__)
