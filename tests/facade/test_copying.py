"""Copies, pickles and files of tensors, compared with PyTorch; files go both ways."""

import collections
import copy
import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same

try:
    import torch as theirs
except ImportError:
    theirs = None

needs_torch = pytest.mark.skipif(theirs is None, reason="needs torch")
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def pickled(x):
    return pickle.loads(pickle.dumps(x))


WAYS = {"deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": pickled}


@program
def leaves(torch, say):
    for name, way in WAYS.items():
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        (a * a).sum().backward()
        b = way(a)
        say(name, b, b.is_leaf, b.grad, b.grad is a.grad, b.data_ptr() == a.data_ptr())
        c = way(torch.tensor([1, 2]))
        say(c, c.requires_grad, c.dtype)


@program
def non_leaves(torch, say):
    for name, way in WAYS.items():
        n = torch.ones(2, requires_grad=True) * 2
        try:
            m = way(n)
            say(name, m, m.is_leaf, m.grad_fn)
        except Exception as error:
            say(name, type(error).__name__, error)


@program
def shared_memory(torch, say):
    for name, way in WAYS.items():
        x = torch.arange(6.0)
        y, v = way([x, x[2:4]])
        v.zero_()
        say(name, y, v, v._base is None, x)
        a, b = way((x, x))
        say(a is b)


@program
def views_copied_one_by_one(torch, say):
    x = torch.arange(6.0)
    for name, way in WAYS.items():
        v = way(x[2:4])
        say(name, v, v._base is None, v.is_contiguous())
        t = way(torch.arange(6.0).reshape(2, 3).t())
        say(t, t.stride(), way(torch.ones(1).expand(3)).stride())
        say(way(torch.ones(0, 3)), way(torch.tensor(2.5)), way(torch.ones(2, 1, 3)[:, 0]).stride())


@program
def copies_are_independent(torch, say):
    x = torch.ones(3, requires_grad=True)
    y = copy.deepcopy(x)
    (x * 2).sum().backward()
    say(x.grad, y.grad)
    (y * 3).sum().backward()
    say(y.grad, x._version)
    with torch.no_grad():
        y.add_(1)
    say(x, y)


@program
def gradients(torch, say):
    g = torch.ones(2, requires_grad=True)
    g.grad = torch.full((2,), 5.0)
    k = copy.deepcopy([g, g.grad])
    say(k[0].grad is k[1], k[0].grad is g.grad, pickled(g).grad)
    p = torch.nn.Parameter(torch.ones(2))
    (p * 2).sum().backward()
    say(copy.deepcopy(p).grad, copy.copy(p).grad, pickled(p).grad)


@program
def classes_and_attributes(torch, say):
    for name, way in WAYS.items():
        p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
        t = torch.ones(2)
        p.tag, t.tag = [1], [1]
        q, s = way(p), way(t)
        say(name, q, type(q) is torch.nn.Parameter, q.__dict__, s.__dict__)
        say(s.tag is t.tag, getattr(q, "tag", None) is p.tag)


@program
def hooks(torch, say):
    x = torch.ones(2, requires_grad=True)

    def hook(g):
        say("hook")

    x.register_hook(hook)
    for way in (copy.deepcopy, copy.copy, pickled):
        (way(x) * 2).sum().backward()
    say(x.grad)


@program
def containers(torch, say):
    t = torch.ones(2)
    d = copy.deepcopy({"a": t, "b": [t, (t, 1)], "c": torch.float32, "d": torch.Size([2, 3])})
    say(d["a"] is d["b"][0], d["a"] is d["b"][1][0], d["c"] is torch.float32, d["d"])
    say(pickled(torch.int64) is torch.int64, pickled(torch.Size([1])))


@pytest.mark.peers
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    def run(torch, say):
        def told(*things):  # the address in the printed form of a function
            say(*(str(t).split(" at 0x")[0] for t in things))

        PROGRAMS[name](torch, told)

    if name == "hooks":
        pytest.importorskip("torch")
        one, other = (hook_warnings(t) for t in (ours, theirs))
        assert one == other
    else:
        same(run)


def hook_warnings(torch):
    import warnings

    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hooks(torch, lambda *things: said.append(str(things)))
    return said, sorted({str(w.message).split("<")[0] for w in caught}), len(caught)


def test_foreign_memory_with_gaps_is_copied():
    memory = np.arange(20.0).reshape(4, 5)
    other = np.asarray(memoryview(memory)[::2])  # strided memory that no array owns
    x = ours.from_numpy(other)
    assert np.array_equal(copy.deepcopy(x).numpy(), other)
    assert np.array_equal(pickled(x).numpy(), other)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_any_order_of_memory(order):
    array = np.empty((2, 3, 4)[:: 1 if order != (2, 1, 0) else -1]).transpose(order)
    array = np.arange(array.size, dtype=float).reshape(array.shape).copy("K")
    x = ours.from_numpy(array)
    for way in WAYS.values():
        assert np.array_equal(way(x).numpy(), array)


# ------------------------------------------------------------------------------------ files


def written(torch, x):
    buffer = io.BytesIO()
    torch.save(x, buffer)
    return buffer.getvalue()


def example(torch):
    base = torch.arange(6.0).reshape(2, 3)
    shared = [1, 2]
    made = collections.OrderedDict(w=torch.nn.Parameter(torch.ones(2)), view=base.t())
    made._metadata = {"": {"version": 1}}
    return {
        "base": base,
        "state": made,
        "grad": torch.ones(1, requires_grad=True),
        "numbers": (1, -(1 << 40), 1 << 70, 2.5, float("-inf"), True, None, 3 + 4j),
        "texts": ["naïve", "", "x" * 300],
        "more": {torch.Size([2, 3]), 5},
        "shared": [shared, shared],
        "dtype": torch.float64,
        "counter": collections.Counter("aab"),
        "types": [torch.ones(2, dtype=getattr(torch, name)) for name in (
            "float16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool",
            "complex64", "complex128")],
        "empty": torch.ones(0, 3),
        "scalar": torch.tensor(7),
        5: {},
    }  # fmt: skip


def described(x):
    """Everything about an object that shall survive, as text."""
    if hasattr(x, "requires_grad"):
        name = type(x).__name__
        more = (tuple(x.shape), str(x.dtype), x.stride(), x.requires_grad)
        return f"{name}{more}{x.detach().tolist()}"
    if isinstance(x, dict):
        inside = ", ".join(f"{described(k)}: {described(v)}" for k, v in x.items())
        return f"{type(x).__name__}({inside}){getattr(x, '__dict__', '')}"
    if isinstance(x, (list, tuple)) or type(x) is set:
        items = sorted(map(described, x)) if type(x) is set else map(described, x)
        return f"{type(x).__name__}({', '.join(items)})"
    return repr(x)


@pytest.mark.peers
@needs_torch
@pytest.mark.parametrize(("writer", "reader"), [(0, 0), (0, 1), (1, 0)])
def test_files_go_both_ways(writer, reader):
    libraries = (ours, theirs)
    data = written(libraries[writer], example(libraries[writer]))
    found = libraries[reader].load(io.BytesIO(data))
    assert described(found) == described(example(theirs))
    found["base"][0, 0] = 99.0
    assert found["state"]["view"][0, 0].item() == 99.0  # they share memory still
    assert found["shared"][0] is found["shared"][1]


@pytest.mark.peers
@needs_torch
def test_a_checkpoint_of_pytorch_can_be_trained_on():
    def net(torch):
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))

    def steps(torch, model, optimizer, count):
        x = torch.tensor(np.linspace(-1, 1, 15).reshape(5, 3), dtype=torch.float32)
        y = torch.tensor([0, 1, 0, 1, 1])
        for _ in range(count):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

    model = net(theirs)
    optimizer = theirs.optim.Adam(model.parameters(), lr=0.01)
    steps(theirs, model, optimizer, 5)
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 5}
    data = written(theirs, checkpoint)
    steps(theirs, model, optimizer, 5)

    loaded = ours.load(io.BytesIO(data))
    twin = net(ours)
    other = ours.optim.Adam(twin.parameters(), lr=0.5)
    twin.load_state_dict(loaded["model"])
    other.load_state_dict(loaded["optimizer"])
    steps(ours, twin, other, 5)
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(q.detach().numpy(), p.detach().numpy(), rtol=1e-5, atol=1e-7)


def test_a_path_can_be_given(tmp_path):
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt")):
        ours.save({"x": ours.ones(2)}, path)
        assert ours.load(path)["x"].tolist() == [1.0, 1.0]


def test_tensors_of_a_file_are_leaves_and_classes_are_kept():
    found = ours.load(io.BytesIO(written(ours, example(ours))))
    assert type(found["state"]["w"]) is ours.nn.Parameter
    assert found["grad"].is_leaf and found["grad"].requires_grad
    assert found["state"]._metadata == {"": {"version": 1}}


def test_attributes_of_tensors_are_saved():
    t, p = ours.ones(1), ours.nn.Parameter(ours.ones(1))
    t.tag, p.tag = {"a": 1}, [2]
    a, b = ours.load(io.BytesIO(written(ours, [t, p])))
    assert a.tag == {"a": 1} and b.tag == [2]


def test_a_container_may_hold_itself():
    x = [1]
    x.append({"again": x})
    y = ours.load(io.BytesIO(written(ours, x)))
    assert y[1]["again"] is y


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ours.nn.Linear(1, 1), r"funcgrad\..*Linear.*save its state_dict\(\)"),
        (
            lambda: {"a": [0, {"b": np.ones(2).astype(object)}]},
            r"numpy\.ndarray at \['a'\]\[1\]\['b'\].*numbers and texts",
        ),
        (lambda: [np.datetime64("2020")], r"numpy\.datetime64 at \[0\].*numbers and texts"),
        (lambda: print, r"builtins.builtin_function.*convert it"),
        (lambda: {"x": object()}, r"builtins\.object at \['x'\]"),
    ],
)
def test_what_is_no_data_is_not_saved(make, text):
    with pytest.raises(TypeError, match=f"torch.save: cannot save an object of type {text}"):
        written(ours, make())


def test_one_memory_of_two_dtypes_is_not_saved():
    x = ours.ones(2, dtype=ours.complex64)
    y = ours.from_numpy(x.numpy().view(np.float32))
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        written(ours, [x, y])


# ------------------------------------------------------------------- no code runs on loading


def archive(pickle_bytes, storages=()):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickle_bytes)
        for number, data in enumerate(storages):
            file.writestr(f"archive/data/{number}", data)
        file.writestr("archive/version", "3\n")
    buffer.seek(0)
    return buffer


class Attack:
    ran = False

    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return self.how


def attacked(*args):
    Attack.ran = True


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "how",
    [
        (attacked, ()),
        (eval, ("1",)),
        (getattr, (1, "real")),
        (ours.manual_seed, (3,)),
        (collections.defaultdict, (attacked,)),
        (pickle.loads, (b"N.",)),
    ],
)
def test_calls_are_refused(how, protocol):
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed.*not allowed"):
        ours.load(archive(pickle.dumps([Attack(how)], protocol)), weights_only=False)
    assert not Attack.ran


class State:
    def __setstate__(self, state):
        Attack.ran = True


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(State(), 2),  # NEWOBJ
        b"\x80\x02cbuiltins\neval\n.",
        b"\x80\x02ctorch\nload\n.",
        b"\x80\x02(cbuiltins\neval\nX\x01\x00\x00\x001o.",  # OBJ
        b"\x80\x02(X\x01\x00\x00\x001ibuiltins\neval\n.",  # INST
        b"\x80\x02ctorch\nFloatStorage\n)R.",  # a call of what is only a name
        b"\x80\x02ctorch\nTensor\n)R.",
        b"\x80\x02ctorch._utils\n_rebuild_parameter\n}X\x01\x00\x00\x00aNsb.",  # BUILD of one
        b"\x80\x02]}b.",  # BUILD of a list
        b"\x80\x02ctorch\nTensor\n(K\x01K\x02u.",  # SETITEMS of a class
        b"\x80\x02N(K\x01e.",  # APPENDS to None
        b"\x80\x02X\x01\x00\x00\x00xQ.",  # a persistent object of another kind
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02Pabc\n.",  # PERSID
    ],
)
def test_instructions_beyond_plain_data_are_refused(data):
    with pytest.raises(pickle.UnpicklingError):
        ours.load(archive(data))
    assert not Attack.ran


@pytest.mark.parametrize("end", [0, 1, 5, 20, -1, -5])
def test_a_damaged_pickle_is_refused(end):
    data = pickle.dumps({"a": [1, 2.5, "text"]}, 2)[:end]
    with pytest.raises(pickle.UnpicklingError):
        ours.load(archive(data))


def tensor_pickle(offset, size, stride, numel=4, kind="FloatStorage"):
    def pack(x):
        if isinstance(x, tuple):
            return b"(" + b"".join(map(pack, x)) + b"t"
        if isinstance(x, str):
            return b"X" + struct.pack("<I", len(x)) + x.encode()
        return b"\x8a\x08" + struct.pack("<q", x)

    storage = b"(" + pack("storage") + f"ctorch\n{kind}\n".encode()
    storage += pack("0") + pack("cpu") + pack(numel) + b"tQ"
    where = (
        storage + pack(offset) + pack(size) + pack(stride) + b"\x89ccollections\nOrderedDict\n)R"
    )
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + where + b"tR."


MEMORY = np.arange(4, dtype="<f4").tobytes()


def test_a_tensor_written_by_hand():
    found = ours.load(archive(tensor_pickle(1, (3,), (1,)), [MEMORY]))
    assert found.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [(0, (5,), (1,)), (2, (3,), (1,)), (0, (2,), (4,)), (-1, (1,), (1,)), (0, (3,), (-1,)),
     (0, (1 << 40,), (1,)), (1 << 62, (1,), (1,))],
)  # fmt: skip
def test_a_tensor_must_lie_in_its_storage(offset, size, stride):
    with pytest.raises((pickle.UnpicklingError, OverflowError)):
        ours.load(archive(tensor_pickle(offset, size, stride), [MEMORY]))


def test_a_storage_must_have_its_size():
    with pytest.raises(pickle.UnpicklingError, match="storage 0 has 16 bytes instead of 400"):
        ours.load(archive(tensor_pickle(0, (1,), (1,), numel=100), [MEMORY]))
    with pytest.raises(pickle.UnpicklingError, match="archive/data/0"):
        ours.load(archive(tensor_pickle(0, (1,), (1,)), []))


def test_another_device_needs_map_location():
    data = tensor_pickle(0, (1,), (1,)).replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    with pytest.raises(RuntimeError, match="map_location='cpu'"):
        ours.load(archive(data, [MEMORY]))
    assert ours.load(archive(data, [MEMORY]), map_location="cpu").tolist() == [0.0]


def test_big_endian_files():
    buffer = archive(tensor_pickle(0, (4,), (1,)), [np.arange(4, dtype=">f4").tobytes()])
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr("archive/byteorder", "big")
    buffer.seek(0)
    assert ours.load(buffer).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("data", [b"", b"text", pickle.dumps([1])])
def test_other_formats_are_refused(data):
    with pytest.raises(RuntimeError, match="no ZIP archive"):
        ours.load(io.BytesIO(data))


def test_an_archive_without_tensors_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.txt", "a")
    buffer.seek(0)
    with pytest.raises(RuntimeError, match=r"no data\.pkl"):
        ours.load(buffer)
