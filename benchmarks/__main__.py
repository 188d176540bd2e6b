"""The command line: choose workloads by the beginning of their names, print tables, write JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cold import PROBES as COLD
from benchmarks.compiled import PROBES as COMPILED
from benchmarks.facade import PROBES as FACADE
from benchmarks.facade_losses import PROBES as FACADE_LOSSES
from benchmarks.facade_normalisations import PROBES as FACADE_NORMALISATIONS
from benchmarks.facade_operations import PROBES as FACADE_OPERATIONS
from benchmarks.leaving import PROBES as LEAVING
from benchmarks.loop_memory import PROBES as LOOP_MEMORY
from benchmarks.loops import PROBES as LOOPS
from benchmarks.measure import Result, run
from benchmarks.newton import PROBES as NEWTON
from benchmarks.optimizers import PROBES as OPTIMIZERS
from benchmarks.peers import LOADERS, load
from benchmarks.probes import PROBES as EAGER
from benchmarks.workloads import WORKLOADS

OURS = "funcgrad"
PROBES = {
    **EAGER,
    **COMPILED,
    **COLD,
    **LEAVING,
    **FACADE,
    **FACADE_OPERATIONS,
    **FACADE_LOSSES,
    **FACADE_NORMALISATIONS,
    **OPTIMIZERS,
    **LOOPS,
    **LOOP_MEMORY,
    **NEWTON,
}


def main() -> int:
    options = parse()
    if options.list:
        for name, workload in WORKLOADS.items():
            print(f"{name:15} {workload.title}")
        for name, (title, _, _) in PROBES.items():
            print(f"{name:15} {title}")
        return 0
    peers, missing = load(options.peers)
    eager = [peer for peer in peers if peer.value_and_grad is not None]
    machine = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
        "peers": {peer.name: peer.version for peer in peers},
        "missing": missing,
    }
    print("  ".join(f"{peer.name} {peer.version}" for peer in peers))
    if missing:
        print("not installed:", ", ".join(missing))

    results: list[Result] = []
    probes: dict[str, dict[str, float]] = {}
    problems: dict[str, dict[str, str]] = {}
    for name in options.names:
        if name in WORKLOADS:
            result = run(WORKLOADS[name], eager, options.repeat)
            results.append(result)
            problems[name] = result.problems
            print_result(result)
        else:
            title, unit, probe = PROBES[name]
            probes[name], problems[name] = probe(
                peers if name in COMPILED else eager, options.repeat
            )
            print(f"\n{name}: {title}")
            for peer_name, value in probes[name].items():
                bare = peer_name.startswith(("ratio", "target"))
                print(f"  {peer_name:14} {value:10.2f} {'' if bare else unit}")
        for peer_name, problem in problems[name].items():
            print(f"  {peer_name:12} FAILED: {problem}")
    families = print_families(results)

    if options.json:
        report = {
            "machine": machine,
            "workloads": {result.workload.name: as_json(result) for result in results},
            "per_operation": families,
            "probes": probes,
            "problems": {name: found for name, found in problems.items() if found},
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 1 if any(problems.values()) else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time workloads side by side with the installed peers.",
    )
    parser.add_argument("names", nargs="*", help="beginnings of names; all if none is given")
    parser.add_argument("--list", action="store_true", help="show the names and stop")
    parser.add_argument("--repeat", type=positive, default=15, help="rounds (default 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured")
    parser.add_argument("--peers", type=peer_names, default=list(LOADERS), metavar="A,B")
    options = parser.parse_args()
    known = [*WORKLOADS, *PROBES]
    for given in options.names:
        if not any(name.startswith(given) for name in known):
            parser.error(f"no workload begins with {given!r}; there are {', '.join(known)}")
    if options.names:
        whole = set(options.names) & set(known)  # a name may be the beginning of another
        chosen = tuple(set(options.names) - whole)
        options.names = [name for name in known if name in whole or name.startswith(chosen)]
    else:
        options.names = known
    return options


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def peer_names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in LOADERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
    return names


def print_result(result: Result) -> None:
    """One line a peer; the ratio is the time of funcgrad over that of the peer."""
    workload, ours = result.workload, result.timings.get(OURS)
    print(f"\n{workload.name}: {workload.title}")
    print(f"  {'':12} {'median':>10} {'min':>10} {'spread':>7} {'per op':>10} {OURS + '/peer':>14}")
    for name, timing in result.timings.items():
        ratio = f"{ours.ratio(timing):14.2f}" if ours else f"{'–':>14}"
        print(
            f"  {name:12} {human(timing.median):>10} {human(timing.fastest):>10}"
            f" {timing.spread:7.1%} {human(timing.median / workload.operations):>10} {ratio}"
        )


def print_families(results: list[Result]) -> dict[str, dict[str, float]]:
    """For work done at several sizes: the largest time per operation over the smallest."""
    costs: dict[str, dict[str, list[float]]] = {}
    for result in results:
        family = costs.setdefault(result.workload.family, {})
        if result.workload.name.rpartition("-")[2].isdigit():
            for name, timing in result.timings.items():
                cost = timing.median / result.workload.operations
                family.setdefault(name, []).append(cost)
    found: dict[str, dict[str, float]] = {}
    for label, peers in costs.items():
        ratios = {name: max(each) / min(each) for name, each in peers.items() if len(each) > 1}
        if ratios:
            found[label] = ratios
            print(f"\n{label}: time per operation, the largest over the smallest of the sizes")
            for name, ratio in ratios.items():
                print(f"  {name:12} {ratio:10.2f}")
    return found


def as_json(result: Result) -> dict[str, Any]:
    ours = result.timings.get(OURS)
    return {
        "title": result.workload.title,
        "operations": result.workload.operations,
        "timings": {
            name: {
                "median": timing.median,
                "min": timing.fastest,
                "spread": timing.spread,
                "ratio": ours.ratio(timing) if ours else None,
                "seconds": timing.seconds,
            }
            for name, timing in result.timings.items()
        },
    }


def human(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


if __name__ == "__main__":
    sys.exit(main())
