"""Compiled code in memory and on disk: built once, never loaded when it is not what we wrote."""

import ctypes
import gc
import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from funcgrad.compile import cache, store
from funcgrad.compile.llvm import objects
from funcgrad.compile.llvm.target import host, without_avx512
from funcgrad.config import config

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")


def text(k):
    return f"define i64 @f(i64 %x) {{\n  %y = add i64 %x, {k}\n  ret i64 %y\n}}"


def call(library, x=1):
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("f"))(x)


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_directory", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "cache", True)
    monkeypatch.setattr(cache, "statistics", cache.Statistics())
    monkeypatch.setattr(store, "_warned", set())
    monkeypatch.setattr(store, "_sizes", {})
    forget()


def forget():
    """What a new process does not have."""
    cache._recent.clear()
    cache._libraries.clear()


def counts():
    s = cache.statistics
    return s.memory, s.disk, s.built


def entries():
    return sorted(os.listdir(store.path()))


def test_memory_then_disk_then_build():
    first = cache.library(text(1))
    assert call(first) == 2 and counts() == (0, 0, 1)
    assert cache.library(text(1)) is first and counts() == (1, 0, 1)
    del first
    gc.collect()
    assert call(cache.library(text(1))) == 2 and counts() == (2, 0, 1)
    forget()
    assert call(cache.library(text(1))) == 2 and counts() == (2, 1, 1)


def test_the_key_has_all_that_code_depends_on(monkeypatch):
    cache.library(text(1))
    cache.library(text(2))
    cache.library(text(1), optimize=True)
    cache.library(text(1), target=without_avx512(host()))
    distinct = 4 if host().avx512 else 3
    assert len(entries()) == distinct
    monkeypatch.setattr(store, "FORMAT", "next")
    cache.library(text(1))
    assert counts()[2] == distinct + 1


def test_libraries_with_other_symbols_are_not_shared():
    source = (
        "declare i64 @g(i64)\ndefine i64 @f(i64 %x) {\n %y = call i64 @g(i64 %x)\n ret i64 %y\n}"
    )
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    functions = [kind(lambda x, k=k: x + k) for k in (10, 20)]
    found = [
        cache.library(source, symbols={"g": ctypes.cast(g, ctypes.c_void_p).value})
        for g in functions
    ]
    assert [call(library) for library in found] == [11, 21]
    assert counts() == (1, 0, 1)


@POSIX
def test_directory_and_entries_are_private():
    cache.library(text(1))
    assert stat.S_IMODE(os.stat(store.path()).st_mode) == 0o700
    (name,) = entries()
    assert stat.S_IMODE(os.stat(os.path.join(store.path(), name)).st_mode) == 0o600


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "header only": lambda data: data[:48],
    "one bit": lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
    "checksum": lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
    "longer": lambda data: data + b"\0",
    "another format": lambda data: b"funcgrad object?" + data[16:],
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_built_anew_with_one_warning(damage):
    cache.library(text(1))
    (name,) = entries()
    file = os.path.join(store.path(), name)
    with open(file, "rb") as handle:
        good = handle.read()
    with open(file, "wb") as handle:
        handle.write(damage(good))
    forget()
    with pytest.warns(RuntimeWarning, match=rf"(?s){name}.*damaged.*compiled anew") as caught:
        assert call(cache.library(text(1))) == 2
    assert len(caught) == 1 and counts() == (0, 0, 2)
    with open(file, "rb") as handle:
        assert handle.read() == good  # the same text gives the same object
    forget()
    assert call(cache.library(text(1))) == 2 and counts() == (0, 1, 2)


def test_an_entry_under_another_name_is_not_taken():
    cache.library(text(1))
    (one,) = entries()
    cache.library(text(2))
    (two,) = set(entries()) - {one}
    os.replace(os.path.join(store.path(), one), os.path.join(store.path(), two))
    forget()
    with pytest.warns(RuntimeWarning, match="not what was stored under this name"):
        assert call(cache.library(text(2))) == 3


@POSIX
@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "mode"])
def test_an_entry_that_we_cannot_have_made_is_not_taken(kind, tmp_path):
    cache.library(text(1))
    (name,) = entries()
    file = os.path.join(store.path(), name)
    if kind == "mode":
        os.chmod(file, 0o666)
    else:
        os.rename(file, tmp_path / "moved")
        if kind == "link":
            os.symlink(tmp_path / "moved", file)
        elif kind == "pipe":
            os.mkfifo(file)
        else:
            os.mkdir(file)
    forget()
    with pytest.warns(RuntimeWarning, match="compiled anew") as caught:
        assert call(cache.library(text(1))) == 2
    assert len(caught) == 1 and counts() == (0, 0, 2)
    if kind != "directory":
        forget()
        assert call(cache.library(text(1))) == 2 and counts() == (0, 1, 2)


@POSIX
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777, 0o701])
def test_a_directory_open_to_others_is_not_used(mode):
    cache.library(text(1))
    os.chmod(store.path(), mode)
    forget()
    with pytest.warns(RuntimeWarning, match="others have access.*mode 700") as caught:
        assert call(cache.library(text(1))) == 2
        assert call(cache.library(text(2))) == 3
    assert len(caught) == 1 and counts() == (0, 0, 3) and len(entries()) == 1


@POSIX
def test_a_link_instead_of_the_directory_is_not_used(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").mkdir()
    os.symlink(tmp_path / "elsewhere", store.path())
    with pytest.warns(RuntimeWarning, match="symbolic link"):
        assert call(cache.library(text(1))) == 2
    assert not list((tmp_path / "elsewhere").iterdir())


@POSIX
def test_a_directory_of_somebody_else_is_not_used(monkeypatch):
    cache.library(text(1))
    forget()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.warns(RuntimeWarning, match=f"belongs to user {owner}"):
        assert call(cache.library(text(1))) == 2
    assert counts() == (0, 0, 2)


@POSIX
def test_an_entry_of_somebody_else_is_not_used(monkeypatch):
    cache.library(text(1))
    forget()
    real, owner = os.fstat, os.geteuid()

    def foreign(handle):
        status = real(handle)
        if not stat.S_ISREG(status.st_mode):
            return status
        return os.stat_result((*status[:4], owner + 1, *status[5:]))

    monkeypatch.setattr(os, "fstat", foreign)
    with pytest.warns(RuntimeWarning, match=f"belongs to user {owner + 1}"):
        assert call(cache.library(text(1))) == 2


@pytest.mark.parametrize("where", ["/dev/null/cache", "/proc/cache"])
def test_without_a_place_it_works_and_says_so_once(where, monkeypatch):
    monkeypatch.setattr(config, "cache_directory", where)
    with pytest.warns(RuntimeWarning, match=f"cannot be kept in {where}.*FUNCGRAD_CACHE") as said:
        assert call(cache.library(text(1))) == 2
        forget()
        assert call(cache.library(text(1))) == 2 and counts() == (0, 0, 2)
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore:compiled code cannot be kept")
def test_a_full_disk_leaves_nothing_behind(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert call(cache.library(text(1))) == 2
    assert entries() == []


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(config, "cache", False)
    assert call(cache.library(text(1))) == 2
    assert not os.path.exists(store.path())


def test_the_least_recently_used_go_first(monkeypatch):
    monkeypatch.setattr(config, "cache_size", 20 * store._BLOCK)
    names = []
    for k in range(20):
        before = set(entries()) if k else set()
        cache.library(text(k))
        (new,) = set(entries()) - before
        names.append(new)
        os.utime(os.path.join(store.path(), new), (k + 1000, k + 1000))
    forget()
    cache.library(text(0))  # used again
    assert counts()[1] == 1
    cache.library(text(100))
    left = set(entries())
    assert 10 <= len(left) <= 15
    assert names[0] in left and names[1] not in left and names[19] in left


def test_files_of_processes_that_died_are_removed():
    cache.library(text(1))
    old, young = (os.path.join(store.path(), f".{name}") for name in ("old", "young"))
    for file in (old, young):
        with open(file, "wb"):
            pass
    os.utime(old, (1e9, 1e9))
    store._sizes.clear()
    cache.library(text(2))
    assert not os.path.exists(old) and os.path.exists(young) and len(entries()) == 3


def test_threads_that_need_the_same_code_build_it_once(monkeypatch):
    built = []

    def slow(*args, **kwargs):
        built.append(1)
        time.sleep(0.05)
        return real(*args, **kwargs)

    real = objects.build
    monkeypatch.setattr(objects, "build", slow)
    results = []
    start = threading.Barrier(6)

    def work():
        start.wait()
        results.append(cache.library(text(1)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(built) == 1 and len(set(map(id, results))) == 1


PROCESS = """
import ctypes, sys, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", "compiled code cannot be kept in /dev/null/home")
from funcgrad.compile import cache
for k in range(40):
    text = f"define i64 @f(i64 %x) {{ %y = add i64 %x, {k % 20}\\n ret i64 %y }}"
    library = cache.library(text)
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("f"))
    assert f(1) == 1 + k % 20
    cache._recent.clear(); del library
print(cache.statistics.disk, cache.statistics.built)
"""


def start(directory, **more):
    environment = dict(os.environ, FUNCGRAD_CACHE_DIR=str(directory), **more)
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS], env=environment, stdout=subprocess.PIPE, text=True
    )


def finish(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return tuple(map(int, out.split()))


def test_processes_share_it_at_once(tmp_path):
    first = [finish(p) for p in [start(tmp_path / "shared") for _ in range(3)]]
    assert all(disk + built == 40 and disk >= 20 for disk, built in first)
    assert finish(start(tmp_path / "shared")) == (40, 0)


def test_the_environment_decides(tmp_path):
    assert finish(start(tmp_path / "unused", FUNCGRAD_CACHE="off")) == (0, 40)
    assert not (tmp_path / "unused").exists()


def test_without_a_home():
    process = start("", HOME="/dev/null/home", XDG_CACHE_HOME="relative")
    assert finish(process) == (0, 40)


@POSIX
def test_the_home_is_used(tmp_path):
    process = start("", HOME=str(tmp_path), XDG_CACHE_HOME="")
    assert finish(process) == (20, 20)
    cached = tmp_path / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "funcgrad"
    assert os.listdir(cached) == [f"objects-{store.FORMAT}"]
