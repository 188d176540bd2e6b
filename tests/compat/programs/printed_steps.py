"""A computation, and its gradient, as the steps that were taken: the tracer without derivatives."""

import autograd.numpy as np
from autograd import grad
from autograd.tracer import Node, trace


class Step(Node):
    def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
        self.taken = parents[0].taken
        self.number = len(self.taken)
        shown = list(args)
        for position, parent in zip(parent_argnums, parents, strict=True):
            shown[position] = parent.value
        self.value = value
        self.taken.append((value, *shown))
        self.name = fun.__name__

    def initialize_root(self, x):
        self.taken = [(x,)]
        self.number, self.name, self.value = 0, "input", x


def steps(function, x):
    value, node = trace(Step.new_root(x), function, x)
    return value, node.number, node.taken


def smooth(x):
    y = np.sin(x + x)
    return (y + y) / 2


def run():
    first = steps(smooth, 1.23)
    slope, _, taken = steps(grad(smooth), 1.0)
    twice, _, _ = steps(grad(grad(smooth)), 1.0)
    return first, slope, taken[:5], twice
