"""Folders that cannot be written, found or filled: all is computed, and it is said once."""

import os
import stat
import subprocess
import sys
import textwrap

import pytest

import funcgrad as fg
from funcgrad.compile import store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="users and limits of Linux")

HEAD = """
import os, pwd, resource, stat, sys, warnings
import numpy as np
import funcgrad as fg
fg.config.threads = 1
def compute():
    x = np.linspace(0.1, 1.0, 1000)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for k in range(3):
            g = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x) * (k + 1))))(x)
            np.testing.assert_allclose(g, (k + 1) * (1 - np.tanh(x) ** 2), rtol=1e-12)
    return [str(w.message) for w in said]
def nobody():
    '''Root may write everywhere, so become another user, who owns what root gives him.'''
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresuid(12345, 12345, 12345)
"""


def run(body, folder, **settings):
    package = os.path.dirname(os.path.dirname(fg.__file__))
    env = {**os.environ, "FUNCGRAD_CACHE": "on", "PYTHONPATH": package, **settings}
    env = {name: value for name, value in env.items() if value is not None}
    command = [sys.executable, "-c", HEAD + textwrap.dedent(body)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("setting", [None, "~/code"])
def test_without_a_home_no_folder_appears(setting, tmp_path):
    """Neither HOME nor an entry of the user: "~" stays what it is."""
    body = """
        def unknown(*_):
            raise KeyError("no such user")
        pwd.getpwuid = pwd.getpwnam = unknown
        (said,) = compute()
        assert "there is no home directory" in said and "FUNCGRAD_CACHE_DIR" in said, said
        assert os.listdir() == [], os.listdir()
        print("done")
    """
    unset = {"HOME": None, "XDG_CACHE_HOME": None, "FUNCGRAD_CACHE_DIR": setting}
    run(body, tmp_path, **unset)


def test_a_cache_that_cannot_be_written(tmp_path):
    """What lies there is used; that new code cannot be kept is said once."""
    place = tmp_path / "cache"
    run("assert compute() == []\nprint('done')", tmp_path, FUNCGRAD_CACHE_DIR=str(place))
    count = len(list((place / f"objects-{store.FORMAT}").iterdir()))
    assert count
    body = """
        import errno
        from funcgrad.compile import cache
        real = os.open
        def open_(path, flags, *args, **named):  # as a file system that is mounted read-only
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                raise OSError(errno.EROFS, "Read-only file system")
            return real(path, flags, *args, **named)
        os.open = open_
        store_utime, os.utime = os.utime, None
        def refuse(*_, **__): raise OSError(errno.EROFS, "Read-only file system")
        os.utime = refuse
        assert compute() == [] and cache.statistics.built == 0
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for k in range(3):
                assert fg.jit(lambda x: np.sum(np.cos(x) * np.exp(x) + k))(np.zeros(3)) == 3 + 3 * k
        (said,) = said
        assert "cannot be kept" in str(said.message) and "Read-only" in str(said.message)
        assert said.category is RuntimeWarning
        print("done")
    """
    run(body, tmp_path, FUNCGRAD_CACHE_DIR=str(place))
    assert len(list((place / f"objects-{store.FORMAT}").iterdir())) == count


def test_functions_for_numba_without_a_place_for_their_code(tmp_path):
    """A file system that is mounted read-only: `.njit` compiles in memory, and says it once."""
    body = """
        import errno, numba
        real, mkdir = os.open, os.mkdir
        def refuse(*_, **__): raise OSError(errno.EROFS, "Read-only file system")
        def open_(path, flags, *args, **named):
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                refuse()
            return real(path, flags, *args, **named)
        os.open, os.utime, os.mkdir = open_, refuse, refuse
        a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for k in range(2):  # one that calls a function of Numba's, and one of ours alone
                f = fg.jit(lambda a, b: np.linalg.solve(a, b) * (k + 1)).njit
                g = fg.jit(fg.grad(lambda x: np.sum(np.sin(x) ** 2) * (k + 1))).njit
                outer = numba.njit(lambda a, b: f(a, b) + g(b))
                want = (np.linalg.solve(a, b) + np.sin(2 * b)) * (k + 1)
                np.testing.assert_allclose(outer(a, b), want, rtol=1e-12)
        said = [str(w.message) for w in said if w.category is RuntimeWarning]
        (text,) = said
        assert "Read-only" in text, text
        assert os.listdir(os.environ["FUNCGRAD_CACHE_DIR"]) == []
        print("done")
    """
    (tmp_path / "cache").mkdir(mode=0o700)
    run(body, tmp_path, FUNCGRAD_CACHE_DIR=str(tmp_path / "cache"))


def test_a_folder_in_which_another_user_cannot_make_one(tmp_path):
    body = """
        compute_first = fg.jit(np.sin)(0.0)
        import numpy.testing
        os.chmod(".", 0o755)
        nobody()
        fg.config.cache_directory = os.path.join(os.getcwd(), "mine")
        (said,) = compute()
        assert "Permission denied" in said and not os.path.exists("mine")
        print("done")
    """
    if os.geteuid():
        pytest.skip("needs root, who gives a folder to nobody")
    run(body, tmp_path, FUNCGRAD_CACHE_DIR=str(tmp_path / "roots"))


@pytest.mark.parametrize("limit", [0, 40])  # bytes: the seal alone has 48
def test_a_disk_that_is_full(limit, tmp_path):
    body = f"""
        import numpy.testing
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        (said,) = compute()
        assert "File too large" in said, said
        place = os.path.join(os.environ["FUNCGRAD_CACHE_DIR"])
        left = [f for _, _, files in os.walk(place) for f in files]
        assert left == [], left
        print("done")
    """
    run(body, tmp_path, FUNCGRAD_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.parametrize("mask", [0o002, 0o000, 0o077, 0o022])
def test_folders_are_private_whatever_the_mask_of_new_files(mask, tmp_path):
    body = f"""
        os.umask({mask})
        assert compute() == []
        base = os.environ["FUNCGRAD_CACHE_DIR"]
        for folder, _, files in os.walk(base):
            assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
            for file in files:
                assert stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode) == 0o600
        os.umask(0o022)
        from funcgrad.compile import cache
        cache._recent.clear()
        assert compute() == []
        print("done")
    """
    place = tmp_path / "new" / "cache"
    run(body, tmp_path, FUNCGRAD_CACHE_DIR=str(place))
    assert stat.S_IMODE(os.stat(place).st_mode) == 0o700
