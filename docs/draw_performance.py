"""Draw the ratios that the tables of the page on performance state.

python docs/draw_performance.py docs/performance.md folder
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt

COLORS = {
    "jax.jit": "tab:blue",
    "torch": "tab:orange",
    "torch.compile": "tab:red",
    "PyTensor": "tab:green",
    "lax.scan": "tab:blue",
}
PICTURES = {  # of which columns
    "compiled.svg": ("jax.jit", "torch", "torch.compile", "PyTensor"),
    "loops.svg": ("lax.scan",),
}
MARKERS = {"f64": "o", "f32": "D"}


class Ratio(NamedTuple):
    """One cell: how many times the time of the peer funcgrad takes."""

    workload: str
    peer: str
    dtype: str
    value: float


def rows(text: str) -> list[dict[str, str]]:
    """The rows of all tables of a page, each by the names of its columns."""
    found: list[dict[str, str]] = []
    header: list[str] = []
    for line in text.splitlines():
        cells = [c.strip().strip("`") for c in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif not set(line) <= set("|-: "):
            found.append(dict(zip(header, cells)))
    return found


def ratios(text: str) -> list[Ratio]:
    """The ratios of all rows that have a workload; where no type of numbers is said it is f64."""
    found = []
    for row in rows(text):
        if "workload" in row:
            for peer in COLORS.keys() & row.keys():
                number = re.search(r"\d+\.\d+", row[peer])
                if number:
                    dtype = row.get("dtype", "f64")
                    found.append(Ratio(row["workload"], peer, dtype, float(number[0])))
    return found


def draw(found: list[Ratio], path: Path) -> None:
    """A row for each workload, a mark for each ratio; left of the line funcgrad is faster."""
    names = list(dict.fromkeys(r.workload for r in found))
    figure, axes = plt.subplots(figsize=(8, 0.27 * len(names) + 1.2), layout="constrained")
    for peer, color in COLORS.items():
        for dtype, marker in MARKERS.items():
            points = [(r.value, names.index(r.workload)) for r in found if r[1:3] == (peer, dtype)]
            if points:
                face = color if dtype == "f64" else "none"
                axes.plot(
                    *zip(*points), marker, color=color, markerfacecolor=face, markersize=5,
                    label=f"{peer}, {dtype}",
                )  # fmt: skip
    axes.axvline(1.0, color="0.3", linewidth=1)
    axes.set(
        xscale="log", yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5)
    )
    figure.supxlabel(
        "time of funcgrad over time of the other: left of the line funcgrad is faster", fontsize=9
    )
    axes.grid(axis="both", alpha=0.25)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize=8)
    figure.savefig(path)
    plt.close(figure)


def main(page: Path, folder: Path) -> None:
    """Draw each of the pictures into a folder."""
    found = ratios(page.read_text(encoding="utf-8"))
    for name, peers in PICTURES.items():
        draw([r for r in found if r.peer in peers], folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
