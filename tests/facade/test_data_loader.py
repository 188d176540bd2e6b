"""`DataLoader`, here and with workers: each program says in both libraries the same."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same


def drawing(torch):
    """Samples with random numbers of three libraries."""

    class Drawing(torch.utils.data.Dataset):
        def __len__(self):
            return 7

        def __getitem__(self, i):
            info = torch.utils.data.get_worker_info()
            return {
                "x": torch.tensor([i, i + 0.5]),
                "torch": torch.rand(2),
                "numpy": np.random.rand(),
                "python": random.random(),
                "name": f"a{i}",
                "worker": -1 if info is None else info.id,
                "seed": 0 if info is None else info.seed,
                "threads": torch.get_num_threads() == 1,
            }

    return Drawing()


def stream(torch, n, shared=True):
    class OfNumbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            first, step = (info.id, info.num_workers) if info and shared else (0, 1)
            return iter(range(first, n, step))

        def __len__(self):
            return n

    return OfNumbers()


def here(torch, say):
    d = torch.utils.data
    np.random.seed(0)
    random.seed(0)
    torch.manual_seed(1)
    for options in (
        {}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"shuffle": True},
        {"batch_size": 4, "shuffle": True}, {"batch_size": None},
        {"sampler": [3, 1, 5], "batch_size": 2}, {"batch_sampler": [[1, 2], [3]]},
        {"batch_size": None, "sampler": [[1, 2]]} , {"collate_fn": len, "batch_size": 3},
    ):  # fmt: skip
        data = [x + 0.5 for x in range(7)] if "sampler" not in options else torch.arange(7)
        loader = d.DataLoader(data, **options)
        say(len(loader), list(loader), len(iter(loader)))
    for batch in d.DataLoader(drawing(torch), batch_size=3, shuffle=True):
        del batch["threads"]
        say(batch)
    g = torch.Generator().manual_seed(4)
    loader = d.DataLoader(range(6), shuffle=True, batch_size=2, generator=g)
    say(list(loader), list(loader), torch.rand(1), torch.rand(1, generator=g))


def rows_at_once(torch, say):
    """A whole batch is read at once where nobody can tell."""
    d = torch.utils.data
    x = torch.arange(12.0).view(6, 2)
    parts = d.random_split(
        d.TensorDataset(x, torch.arange(6)), [4, 2], torch.Generator().manual_seed(0)
    )
    say(list(d.DataLoader(parts[0], batch_size=3)), list(d.DataLoader(parts[1], batch_size=3)))

    class Doubled(d.TensorDataset):
        def __getitem__(self, i):
            return super().__getitem__(i)[0] * 2

    say(list(d.DataLoader(Doubled(x), batch_size=4)))
    weights = torch.ones(3, 2, requires_grad=True)
    (batch,) = next(iter(d.DataLoader(d.TensorDataset(weights), batch_size=2)))
    batch.sum().backward()
    say(batch, weights.grad)
    (batch,) = next(iter(d.DataLoader(d.TensorDataset(x), batch_size=2)))
    batch.zero_()
    say(x)
    say(list(d.DataLoader(d.TensorDataset(x), sampler=torch.tensor([1, 0]), batch_size=2)))


def with_workers(torch, say):
    d = torch.utils.data
    torch.manual_seed(1)
    for batch in d.DataLoader(drawing(torch), batch_size=2, shuffle=True, num_workers=2):
        say(batch)
    loader = d.DataLoader(range(5), batch_size=None, num_workers=1, prefetch_factor=1)
    say(list(loader), list(loader))
    say([x.tolist() for x in d.DataLoader(stream(torch, 11), batch_size=2, num_workers=2)])
    say(sorted(d.DataLoader(stream(torch, 5, False), batch_size=None, num_workers=2)))
    say(d.get_worker_info())


def starting_workers(torch, say):
    d = torch.utils.data

    class Kept(d.Dataset):
        scale = 1

        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i * self.scale

    def start(number):
        d.get_worker_info().dataset.scale = 10 ** (number + 1)

    loader = d.DataLoader(Kept(), num_workers=2, worker_init_fn=start, persistent_workers=True)
    say([x.item() for x in loader])
    for x in loader:
        say(x)
        break
    say([x.item() for x in loader])


def streams(torch, say):
    d = torch.utils.data
    for drop in (False, True):
        loader = d.DataLoader(stream(torch, 7), batch_size=3, drop_last=drop)
        say(len(loader), [x.tolist() for x in loader])
    loader = d.DataLoader(stream(torch, 3), batch_size=None)
    say(len(loader), list(loader))
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        try:
            d.DataLoader(stream(torch, 3), **options)
        except ValueError as error:
            say(error)


def longer_than_told(torch, say):
    class Liar(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

        def __len__(self):
            return 2

        def __repr__(self):
            return "Liar()"

    loader = torch.utils.data.DataLoader(Liar(), batch_size=None)
    say(len(loader), list(loader))


def refused(torch, say):
    d = torch.utils.data
    for options in (
        {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2},
        {"prefetch_factor": -2, "num_workers": 1}, {"persistent_workers": True},
        {"sampler": [1], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True}, {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": None, "drop_last": True}, {"batch_size": 0}, {"batch_size": -1},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "no", "num_workers": 1},
        {"multiprocessing_context": 3, "num_workers": 1},
    ):  # fmt: skip
        try:
            d.DataLoader(range(3), **options)
        except (ValueError, TypeError) as error:
            say(type(error).__name__, error)
    loader = d.DataLoader(range(3), pin_memory=True)
    say(list(loader))
    for name in ("batch_size", "sampler", "dataset", "drop_last", "persistent_workers"):
        try:
            setattr(loader, name, None)
        except ValueError as error:
            say(error)
    d.DataLoader([], shuffle=True)


def failing(torch, n):
    class Failing(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            if i == n:
                raise KeyError("four")
            return i

    return Failing()


def raised_by_a_worker(torch, say):
    batches = iter(torch.utils.data.DataLoader(failing(torch, 2), batch_size=2, num_workers=2))
    for _ in range(4):
        try:
            say(next(batches))
        except KeyError as error:
            lines = str(error).splitlines()
            say(lines[:2], lines[-1], "in __getitem__" in str(error))
        except StopIteration:
            say("end")


PROGRAMS = [here, rows_at_once, with_workers, starting_workers, streams, longer_than_told, refused,
            raised_by_a_worker]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)


def loader(data, **options):
    return ours.utils.data.DataLoader(data, **options)


class Dying(ours.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return i


def test_a_worker_that_dies_is_named_at_once_with_its_signal():
    batches = iter(loader(Dying(), num_workers=1))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexp.*Kil"):
        list(batches)
    assert not multiprocessing.active_children()


class Slow(ours.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        time.sleep(0.4 * i)
        return i


def test_a_batch_that_takes_too_long_is_a_named_error():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        list(loader(Slow(), num_workers=1, timeout=0.2))


def test_an_epoch_that_is_left_leaves_no_process_and_large_batches_do_not_block():
    data = ours.utils.data.TensorDataset(ours.ones(64, 50_000))
    batches = iter(loader(data, batch_size=8, num_workers=2))
    assert next(batches)[0].shape == (8, 50_000)
    del batches
    assert not multiprocessing.active_children()


def test_long_lists_of_indices_do_not_block():
    data = ours.utils.data.TensorDataset(ours.arange(100_000))
    found = loader(data, batch_size=25_000, shuffle=True, num_workers=1, prefetch_factor=4)
    assert sorted(itertools.chain(*(x.tolist() for (x,) in found))) == list(range(100_000))


def test_what_workers_send_is_memory_of_the_readers_own():
    (x,) = next(iter(loader(ours.utils.data.TensorDataset(ours.ones(4, 3)), num_workers=1)))
    x += 1
    x.requires_grad_().sum().backward()
    assert x.grad.shape == (1, 3)


class Unsendable(ours.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, i):
        return lambda: i


def test_a_batch_that_cannot_be_pickled_is_a_named_error():
    with pytest.raises(Exception, match=r"in DataLoader worker process 0[\s\S]*pickle"):
        list(loader(Unsendable(), num_workers=1, batch_size=None))


def test_batches_as_they_come():
    found = loader(Slow(), num_workers=2, in_order=False, batch_size=None)
    assert sorted(found) == [0, 1, 2, 3]


def test_an_epoch_is_not_pickled_a_loader_is():
    made = loader(range(4), batch_size=2)
    assert len(pickle.loads(pickle.dumps(made))) == 2
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iter(made))


SPAWNED = """
import funcgrad.torch as torch
from funcgrad.torch.utils.data import DataLoader, TensorDataset

def start(number):
    print("started", number, flush=True)

if __name__ == "__main__":
    data = TensorDataset(torch.arange(4.0))
    loader = DataLoader(data, 2, num_workers=1, multiprocessing_context="spawn",
                        worker_init_fn=start)
    print([x.tolist() for x, in loader])
"""


def test_workers_are_started_anew_by_spawn(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SPAWNED)
    found = {**os.environ, "PYTHONPATH": str(pathlib.Path(ours.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=100, env=found
    )
    assert done.stdout == "started 0\n[[0.0, 1.0], [2.0, 3.0]]\n", done.stderr


INTERRUPTED = """
import os, signal, time
import funcgrad.torch as torch
from funcgrad.torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, i):
        time.sleep(0.05)
        return i

try:
    for i, x in enumerate(DataLoader(Slow(), num_workers=2)):
        if i == 3:
            os.killpg(os.getpgid(0), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_ends_the_epoch_and_its_workers_in_silence():
    signals = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True, text=True, timeout=100, start_new_session=True, **signals,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


KILLED = """
import os
import funcgrad.torch as torch
from funcgrad.torch.utils.data import DataLoader, Dataset

class Large(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, i):
        return torch.zeros(300_000)  # more than a pipe holds

batches = iter(DataLoader(Large(), num_workers=2))
next(batches)
print(*[w.process.pid for w in batches.workers._workers], flush=True)
os.kill(os.getpid(), 9)
"""


def lives(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_workers_end_with_a_loader_that_was_killed():
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    for _ in range(600):
        if not any(map(lives, pids)):
            return
        time.sleep(0.1)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    raise AssertionError("workers outlive their loader")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_fork_leaves_the_workers_to_its_parent():
    data = ours.utils.data.TensorDataset(ours.arange(8))
    batches = iter(ours.utils.data.DataLoader(data, batch_size=2, num_workers=1))
    found = [next(batches)]
    child = os.fork()
    if not child:
        batches.workers.close()
        os._exit(0)
    os.waitpid(child, 0)
    found += batches
    assert [x.tolist() for (x,) in found] == [[0, 1], [2, 3], [4, 5], [6, 7]]


class Refusing(ours.utils.data.Dataset):
    """Raises an error whose class lies in a function, which no process can be sent."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        class TwoReasonsError(Exception):
            def __init__(self, one, other):
                super().__init__(one, other)

        if i == 5:
            raise TwoReasonsError("blue", "heavy")
        return i


def test_an_error_whose_class_cannot_be_sent_keeps_its_name_and_traceback():
    with pytest.raises(RuntimeError) as caught:
        list(ours.utils.data.DataLoader(Refusing(), 2, num_workers=2))
    text = str(caught.value)
    assert text.startswith("Caught TwoReasonsError in DataLoader worker process 0.\nOriginal ")
    assert 'raise TwoReasonsError("blue", "heavy")' in text


def test_persistent_workers_end_with_their_loader_and_not_with_the_next_collection():
    gc.collect()
    gc.disable()
    try:
        loader = ours.utils.data.DataLoader(range(6), 2, num_workers=2, persistent_workers=True)
        assert [list(x) for x in loader] == [list(x) for x in loader]
        workers = [w.process for w in loader._reading.workers._workers]
        assert all(w.is_alive() for w in workers)
        del loader
        assert not any(w.is_alive() for w in workers)
    finally:
        gc.enable()
