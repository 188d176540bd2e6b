"""Object code on disk, for the next process.

The directory belongs to the user alone; whatever in it is not exactly what we wrote is reported
and not returned. Entries are replaced at once or not at all, so any number of processes may use it.
Where nothing can be stored, everything works without, and it is said once. It imports config.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from funcgrad.config import config

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["exists", "listed", "lock", "name_of", "path", "read", "remove", "write"]

FORMAT = 1  # raise it when an old entry must no longer be taken for what is asked


class _Refused(Exception):
    """The directory or an entry is not what we would have made: the message says why."""


# The variables that say where a user's files are.
_PLACES = (
    ("LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH")
    if os.name == "nt"
    else ("HOME", "XDG_CACHE_HOME")
)
_user = getattr(os, "getuid", int)  # whose home is asked of the system, where HOME is not set


def _base(directory: str | None) -> str:
    if directory is not None:
        chosen = os.path.expanduser(directory)
        return _NOWHERE if chosen.startswith("~") else os.path.abspath(chosen)
    home = os.path.expanduser("~")
    if os.name == "nt":
        user = os.environ.get("LOCALAPPDATA", os.path.join(home, "AppData", "Local"))
    elif sys.platform == "darwin":
        user = os.path.join(home, "Library", "Caches")
    else:
        user = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(user):  # the standard wants such a value ignored
            user = os.path.join(home, ".cache")
    return os.path.join(user, "funcgrad") if os.path.isabs(user) else _NOWHERE


# Where nothing can be: of a user without a home, whose "~" would be a folder of that name.
_NOWHERE = os.path.join(os.devnull, "there is no home directory")


@functools.lru_cache(16)
def _path(directory: str | None, working: str, user: int, *places: str | None) -> str:
    """Kept for the setting, the working directory where it counts, the user and the `_PLACES`."""
    return os.path.join(_base(directory), f"objects-{FORMAT}")


def path() -> str:
    """The directory of compiled code. It need not exist."""
    chosen = None if config.cache_directory is None else os.fspath(config.cache_directory)
    relative = chosen is not None and not os.path.isabs(chosen) and not chosen.startswith("~")
    working = os.getcwd() if relative else ""
    return _path(chosen, working, _user(), *map(os.environ.get, _PLACES))


# Names are looked up in the open directory, so that nobody can put another one in its place
# between our look at it and our use of it. Windows has no such calls, and guards the profile of a
# user by other means.
_AT = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd


@contextmanager
def _directory(*, create: bool) -> Iterator[int | None]:
    """The open directory; OSError if there is none, _Refused if it is not ours alone."""
    where = path()
    if create:
        os.makedirs(os.path.dirname(where), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(where, 0o700)
    if not _AT:
        os.stat(where)
        yield None
        return
    try:
        handle = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.lexists(where):
            raise _Refused("it is a symbolic link or a file") from None
        raise
    try:
        _check_owner(os.fstat(handle), 0o077)
        yield handle
    finally:
        os.close(handle)


def _check_owner(status: os.stat_result, forbidden: int) -> None:
    if not hasattr(os, "geteuid"):
        return
    if status.st_uid != os.geteuid():
        raise _Refused(f"it belongs to user {status.st_uid}")
    if stat.S_IMODE(status.st_mode) & forbidden:
        raise _Refused(f"its mode is {stat.S_IMODE(status.st_mode):o}, others have access")


def _named(name: str, directory: int | None) -> str:
    return name if directory is not None else os.path.join(path(), name)


_warned: set[str] = set()


def _warn(where: str, why: object, what: str) -> None:
    """One warning for each directory or entry."""
    if where not in _warned:
        _warned.add(where)
        warnings.warn(
            f"compiled code in {where} is not used: {why}. {what}", RuntimeWarning, stacklevel=2
        )


def _unkept(where: str, error: OSError) -> None:
    """One warning for each directory; everything works without."""
    if where not in _warned:
        _warned.add(where)
        warnings.warn(
            f"compiled code cannot be kept in {where}: {error.strerror or error}. The next process "
            "has to compile it anew; name another folder in FUNCGRAD_CACHE_DIR, or set "
            "FUNCGRAD_CACHE=off",
            RuntimeWarning,
            stacklevel=2,
        )


_UNUSED = "Remove it or give it mode 700; until then nothing is kept between processes"


# --- Entries -------------------------------------------------------------------------------------

_MAGIC = b"funcgrad object\n"
_LARGEST = 64 * 1024 * 1024


def _sealed(key: str, code: bytes) -> bytes:
    return _MAGIC + hashlib.blake2b(code, key=key.encode(), digest_size=32).digest() + code


def _unsealed(key: str, entry: bytes) -> bytes:
    code = entry[len(_MAGIC) + 32 :]
    if entry != _sealed(key, code):
        raise _Refused("it is damaged, or not what was stored under this name")
    return code


def read(key: str) -> bytes | None:
    """What was written under `key`, if it is there and whole."""
    if not config.cache:
        return None
    try:
        with _directory(create=False) as directory:
            return _read_entry(key, directory)
    except OSError:
        return None
    except _Refused as refusal:
        _warn(path(), refusal, _UNUSED)
        return None


def _read_entry(key: str, directory: int | None) -> bytes | None:
    try:
        code = _unsealed(key, _contents(key, directory))
    except _Refused as refusal:
        _warn(os.path.join(path(), key), refusal, "It is compiled anew")
        return None
    with suppress(OSError):
        os.utime(_named(key, directory), dir_fd=directory, follow_symlinks=not _AT)  # last used
    return code


def _contents(key: str, directory: int | None) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    # A pipe that somebody put there must not stall us.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(_named(key, directory), flags, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _Refused("it is a symbolic link") from None
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise _Refused("it is no file, or far too large")
        _check_owner(status, 0o022)
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def write(key: str, code: bytes) -> None:
    """Keep `code` under `key` if that is possible."""
    if not config.cache:
        return
    try:
        with _directory(create=True) as directory:
            entry = _sealed(key, code)
            _replace(key, entry, directory)
            _account(len(entry), directory)
    except IsADirectoryError:
        pass  # somebody has put one there, which was said when it was read
    except OSError as error:  # no home, a read-only or a full disk
        _unkept(path(), error)
    except _Refused as refusal:
        _warn(path(), refusal, _UNUSED)


def _replace(key: str, entry: bytes, directory: int | None) -> None:
    """Other processes see the old entry or the new one, nothing between."""
    temporary = f".{key[:16]}.{os.getpid()}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(_named(temporary, directory), flags, 0o600, dir_fd=directory)
    try:
        with open(handle, "wb") as file:
            file.write(entry)
        os.replace(
            _named(temporary, directory),
            _named(key, directory),
            src_dir_fd=directory,
            dst_dir_fd=directory,
        )
    except BaseException:
        with suppress(OSError):
            os.unlink(_named(temporary, directory), dir_fd=directory)
        raise


# --- Names ---------------------------------------------------------------------------------------


def name_of(text: str) -> str:
    """A name for what is kept under `text`."""
    return hashlib.blake2b(text.encode(), digest_size=24).hexdigest()


def exists(key: str) -> bool:
    """Whether there is something under `key`, whole or not: a quick look."""
    return config.cache and os.path.lexists(os.path.join(path(), key))


def listed(prefix: str) -> list[str]:
    """The names that begin so."""
    try:
        with _directory(create=False) as directory:
            names = os.listdir(path() if directory is None else directory)
    except (OSError, _Refused):
        return []
    return sorted(name for name in names if name.startswith(prefix))


def remove(key: str) -> None:
    """Let go of what is kept under `key`."""
    with suppress(OSError, _Refused), _directory(create=False) as directory:
        os.unlink(_named(key, directory), dir_fd=directory)


def lock(name: str) -> int | None:
    """An open file that is locked until it and its copies in other processes are closed.

    None where another process has the lock, or there is no such thing.
    """
    if fcntl is None or not config.cache:
        return None
    try:
        with _directory(create=True) as directory:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(_named(name, directory), flags, 0o600, dir_fd=directory)
    except (OSError, _Refused):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


# --- Size ----------------------------------------------------------------------------------------

_BLOCK = 4096  # a small file takes a block of the disk
_ABANDONED = 3600.0  # seconds after which a temporary file is that of a process that died
_sizes: dict[str, tuple[int, int]] = {}


def _account(added: int, directory: int | None) -> None:
    """Count what was written; look at the directory at first and again now and then.

    Other processes write too, so our count is good for an eighth of the size at most.
    """
    where = path()
    seen, written = _sizes.get(where, (0, config.cache_size))
    written += max(added, _BLOCK)
    if seen + written > config.cache_size or written > config.cache_size // 8:
        seen, written = _evict(directory), 0
    _sizes[where] = seen, written


def _evict(directory: int | None) -> int:
    """Delete the least recently used entries if there are too many; the bytes that remain."""
    entries: list[tuple[float, int, str]] = []
    now = time.time()
    with os.scandir(path() if directory is None else directory) as listing:
        for item in listing:
            with suppress(OSError):
                status = item.stat(follow_symlinks=False)
                abandoned = item.name.startswith(".") and now - status.st_mtime > _ABANDONED
                age = 0.0 if abandoned else status.st_mtime
                entries.append((age, max(status.st_size, _BLOCK), item.name))
    total = sum(size for _, size, _ in entries)
    # Down to three quarters, so that not every further entry has to look again.
    goal = config.cache_size * 3 // 4 if total > config.cache_size else total
    for age, size, name in sorted(entries):
        if total <= goal and age:
            break
        with suppress(OSError):
            os.unlink(_named(name, directory), dir_fd=directory)
            total -= size
    return total
