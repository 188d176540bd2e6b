"""The graph of a computation in the language of Graphviz, from the nodes of the tracer."""

import autograd.numpy as np
from autograd.tracer import Node, trace
from autograd.util import toposort


class GraphNode(Node):
    def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
        self.label = fun.__name__
        self.args = args
        self.by_position = dict(zip(parent_argnums, parents, strict=True))
        self.parents = list(parents)

    def initialize_root(self):
        self.label, self.args, self.by_position, self.parents = "input", (), {}, []


def drawn(end):
    order = list(toposort(end))
    names = {node: f"n{k}" for k, node in enumerate(order)}
    lines = [f'{names[node]} [label="{node.label}"]' for node in order]
    for node in order:
        for position, argument in enumerate(node.args):
            if position in node.by_position:
                lines.append(f"{names[node.by_position[position]]} -> {names[node]}")
            else:
                lines.append(f'{names[node]}_{position} [label="{argument}"]')
                lines.append(f"{names[node]}_{position} -> {names[node]}")
    return "digraph {" + "; ".join(lines) + "}"


def function(x):
    y = np.sin(x)
    return (y + np.exp(x) - 0.5) * y


def run():
    value, end = trace(GraphNode.new_root(), function, 1.0)
    picture = drawn(end)
    return value, len(picture), [ord(letter) for letter in picture]
