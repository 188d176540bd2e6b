"""Graphs as text: one equation a line, types after the names, sub-graphs indented."""

from __future__ import annotations

from typing import Any

from funcgrad.graph.ir import Atom, Graph, Literal, Var

__all__ = ["show"]


class _Names:
    """a, b, …, z, aa, … in the order of appearance."""

    def __init__(self) -> None:
        self.known: dict[Var, str] = {}

    def __getitem__(self, v: Var) -> str:
        if v not in self.known:
            n, name = len(self.known), ""
            while True:
                name = chr(97 + n % 26) + name
                n = n // 26 - 1
                if n < 0:
                    break
            self.known[v] = name
        return self.known[v]


def show(graph: Graph) -> str:
    """The text of a graph.

    Examples
    --------
    >>> import funcgrad as fg
    >>> print(fg.make_graph(lambda x: x * x + 1.0)(2.0))
    graph(a: float64*[]) {
      b: float64*[] = multiply a a
      c: float64*[] = add b 1.0
      return c
    }
    """
    return "\n".join(_lines(graph, ""))


def _lines(graph: Graph, indent: str) -> list[str]:
    names = _Names()

    def atom(a: Atom) -> str:
        return repr(a.value) if isinstance(a, Literal) else names[a]

    head = ", ".join(f"{names[v]}: {v.type}" for v in graph.inputs)
    lines = [f"{indent}graph({head}) {{"]
    lines += [f"{indent}  {names[v]}: {v.type} = constant" for v, _ in graph.constants]
    for e in graph.equations:
        out = ", ".join(f"{names[v]}: {v.type}" for v in e.outputs)
        plain = {k: p for k, p in e.params.items() if not isinstance(p, Graph)}
        inner = {k: p for k, p in e.params.items() if isinstance(p, Graph)}
        options = f"[{', '.join(f'{k}={_param(p)}' for k, p in plain.items())}]" if plain else ""
        scope = f" @scope{e.scope}" if e.scope else ""
        args = " ".join(map(atom, e.inputs))
        lines.append(f"{indent}  {out} = {e.prim.name}{options} {args}{scope}".rstrip())
        for k, p in inner.items():
            lines.append(f"{indent}    {k} =")
            lines += _lines(p, indent + "      ")
    lines.append(f"{indent}  return {', '.join(map(atom, graph.outputs))}")
    lines.append(f"{indent}}}")
    return lines


def _param(p: Any) -> str:
    name = getattr(p, "name", None)
    return name if isinstance(name, str) else str(p)
