"""What the runtime of compiled code costs: building and loading, calls, and starting threads.

Run it as ``python benchmarks/runtime.py``. Times are minima or medians of many runs; the last
column is a ratio to the same thing in JAX, where that is installed.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
import timeit

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm import objects
from funcgrad.compile.llvm.entry import At, Buffer, Entry, Leaf, Made, Number, Program, Step, bits
from funcgrad.compile.llvm.pool import pool
from funcgrad.config import config

DOUBLE = np.dtype(np.float64)
SCALE = """
; (from, to, count, factor): each chunk of `count` elements times `factor`
define void @scale(ptr %arguments, i64 %first, i64 %last) {
entry:
  %x = load ptr, ptr %arguments
  %y.at = getelementptr i64, ptr %arguments, i64 1
  %y = load ptr, ptr %y.at
  %n.at = getelementptr i64, ptr %arguments, i64 2
  %n = load i64, ptr %n.at
  %f.at = getelementptr i64, ptr %arguments, i64 3
  %f = load double, ptr %f.at
  %begin = mul i64 %first, %n
  %end = mul i64 %last, %n
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %i.next, %loop ]
  %from = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %from
  %w = fmul double %v, %f
  %to = getelementptr double, ptr %y, i64 %i
  store double %w, ptr %to
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def milliseconds(f, count=50):
    times = []
    for k in range(count):
        start = time.perf_counter()
        f(k)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def nanoseconds(f, *args, count=20_000):
    """Of one call, without the lambda around it."""
    called = min(timeit.repeat(lambda: f(*args), number=count, repeat=9))
    empty = min(timeit.repeat(lambda: None, number=count, repeat=9))
    return 1e9 * (called - empty) / count


def report(what, value, unit, peer=None):
    ratio = "" if peer is None else f"   {value / peer:.3f} of JAX ({peer:.0f})"
    print(f"{what:<44}{value:>10.3f} {unit}{ratio}")


def building():
    text = [SCALE.replace("scale", f"scale{k}") for k in range(50)]
    objects.build(SCALE)
    report("build a small module", milliseconds(lambda k: objects.build(text[k])), "ms")
    code = objects.build(SCALE)
    kept = []
    load = lambda _: kept.append(objects.load(code))
    report("link it", milliseconds(load), "ms")
    report("look a name up", milliseconds(lambda k: kept[k].address("scale")), "ms")
    with tempfile.TemporaryDirectory() as directory:
        config.cache_directory = directory
        libraries = [cache.library(t) for t in text]
        libraries.clear()
        cache._recent.clear()
        from_disk = milliseconds(lambda k: libraries.append(cache.library(text[k])))
        report("find it on disk and link it", from_disk, "ms")
        report("find it in memory", milliseconds(lambda k: cache.library(text[k])), "ms")
    config.cache_directory = None


def calls():
    library = cache.library(SCALE)
    scale = library.address("scale")
    two = bits(np.float64(2.0))

    def entry(**program):
        made = Entry()
        made.add(Program(**{"leaves": [], "buffers": [], "keep": library, "result": 0, **program}))
        return made.call

    vector, number = Leaf((3,), DOUBLE), Leaf((), DOUBLE)
    into_array = Step(scale, (At("leaf"), At("buffer"), 3, two))
    into_number = Step(scale, (At("leaf"), At("workspace"), 1, two))
    result = [Number(DOUBLE, At("workspace"))]
    of_array = entry(
        leaves=[vector], buffers=[Buffer((3,), DOUBLE)], steps=[into_array], outputs=[Made(0)]
    )
    of_number = entry(leaves=[number], steps=[into_number], outputs=result, workspace=8)
    ten = entry(leaves=[vector] * 10, steps=[into_number], outputs=result, workspace=8)
    x = np.arange(3.0)
    jax_array = jax_number = None
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        g = jax.jit(lambda x: 2 * x)
        jx, jy = jax.numpy.asarray(x), jax.numpy.asarray(2.0)
        jax_array = nanoseconds(g, jx, count=2000)
        jax_number = nanoseconds(g, jy, count=2000)
    except ImportError:
        pass
    report("call with a 3-vector, which returns one", nanoseconds(of_array, x), "ns", jax_array)
    report("call with a number", nanoseconds(of_number, np.float64(2)), "ns", jax_number)
    report("call with ten 3-vectors", nanoseconds(ten, *[x] * 10), "ns")
    report("call with something else", nanoseconds(of_array, 1), "ns")
    report("NumPy: x * 2.0", nanoseconds(lambda x: x * 2.0, x), "ns")


def threads():
    library = cache.library(SCALE)
    x = np.ones(2000 * 512)
    y = np.empty_like(x)
    words = np.array([x.ctypes.data, y.ctypes.data, 512, bits(np.float64(2.0))], np.uint64)
    before = config.threads
    for chunks in (2, 100, 400, 2000):
        for count in (1, 2):
            config.threads = count
            arguments = library.address("scale"), words.ctypes.data, chunks
            run = functools.partial(pool().run, *arguments)
            best = min(timeit.repeat(run, number=1, repeat=300))
            report(f"{chunks} chunks in {count} threads, best of 300", best * 1e6, "us")
    config.threads = before


if __name__ == "__main__":
    building()
    calls()
    threads()
