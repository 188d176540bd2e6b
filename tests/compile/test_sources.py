"""The digest of sources: of their content, read once for as long as nothing can have changed."""

import os

import pytest

import funcgrad as fg
from funcgrad.compile import sources


@pytest.fixture
def reads(monkeypatch, tmp_path):
    """The files whose content was read, in a store of their own."""
    monkeypatch.setattr(fg.config, "cache_directory", str(tmp_path / "store"))
    monkeypatch.setattr(fg.config, "cache", True)
    found = []
    digest = sources._digest

    def counted(files):
        found.append(list(files))
        return digest(files)

    monkeypatch.setattr(sources, "_digest", counted)
    return found


@pytest.fixture
def settled(monkeypatch):
    """Times of change count, as some seconds after an installation."""
    monkeypatch.setattr(sources, "SECOND", -(10**10))


def edited(path, text):
    """Change a file and leave its size and its time of modification as they are."""
    before = path.stat()
    with open(path, "r+") as file:
        file.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("x = 1\n")
    return path


def test_an_edit_of_the_same_size_and_time_is_seen(file, reads, settled):
    first = sources.digest_of([str(file)])
    assert sources.digest_of([str(file)]) == first
    assert len(reads) == 1
    edited(file, "x = 2\n")
    assert sources.digest_of([str(file)]) != first
    edited(file, "x = 1\n")
    assert sources.digest_of([str(file)]) == first


def test_young_files_are_read_each_time(file, reads):
    for text in ("x = 1\n", "x = 2\n", "x = 3\n"):
        edited(file, text)
        sources.digest_of([str(file)])
    assert len(reads) == 3


def test_made_up_times_count_for_nothing():
    assert not sources._changes_show([315532800 * 10**9] * 3)  # an image: whole seconds
    assert sources._changes_show([315532800 * 10**9, 315532800 * 10**9 + 1])
    assert not sources._changes_show([2**62 + 1])  # the future


def test_the_content_counts_and_not_the_place(tmp_path, reads):
    found = []
    for folder in ("one", "two"):
        path = tmp_path / folder / "module.py"
        path.parent.mkdir()
        path.write_text("x = 1\n")
        found.append(sources.digest_of([str(path)]))
    assert found[0] == found[1]


def test_versions_are_known_without_an_import(monkeypatch):
    before = sources.versions.__wrapped__("numba", "llvmlite")
    monkeypatch.setattr(sources.np, "__version__", "0.1")
    assert sources.versions.__wrapped__("numba", "llvmlite") != before
    assert sources.versions.__wrapped__("no_such_package")[-1] == ""
    assert sources.sources() is not None
