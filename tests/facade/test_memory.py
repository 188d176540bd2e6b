"""Storages: where tensors lie, who shares memory with whom, and other memory in place."""

import copy
import io
import pickle

import numpy as np
import pytest

from .both import same

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def tried(say, act):
    try:
        say(act())
    except (RuntimeError, TypeError, IndexError) as error:
        say(type(error).__name__, str(error).splitlines()[0])


@program
def offsets(torch, say):
    x = torch.arange(12.0).reshape(3, 4)
    z = torch.tensor([1 + 2j, 3 + 4j])
    for v in (
        x[1], x[1:].detach(), x[1:].data, x[1:].detach()[1], x.t().detach(), x[..., ::2].detach(),
        x.t()[1].detach()[1:], x.view(-1)[3:].detach().view(3, 3), torch.nn.Parameter(x[1:]),
        x[1:].detach().detach(), x[2:].detach().requires_grad_()[0],
    ):  # fmt: skip
        storage = v.untyped_storage()
        say(v.storage_offset(), v.data_ptr() - x.data_ptr(), v.stride(), v._is_view())
        say(storage.data_ptr() == x.untyped_storage().data_ptr(), storage.nbytes())
    say(z.real.storage_offset(), z.imag.storage_offset(), z.imag.detach().storage_offset())
    say(torch.view_as_real(z)[1].detach().storage_offset())
    with torch.inference_mode():
        i = torch.arange(6.0)
        say(i[2:].storage_offset(), i[2:].as_strided((2,), (1,), 0), i[2:].detach())


@program
def strided_detached(torch, say):
    x = torch.arange(12.0).reshape(3, 4)
    d = x[1:].detach()
    tried(say, lambda: d.as_strided((2,), (1,)))
    tried(say, lambda: d.as_strided((2,), (1,), 0))
    tried(say, lambda: d.as_strided((2, 2), (4, 1), 1))
    tried(say, lambda: d.as_strided((2,), (20,), 0))
    tried(say, lambda: d.as_strided((2,), (1,), -1))
    tried(say, lambda: d.as_strided((2,), (1,), 0)._base is d)
    d.as_strided((2,), (1,), 0).add_(5)
    say(x, x._version, d._version)
    r = x[1:].detach().requires_grad_()
    for offset in (4, 6):
        y = r.as_strided((2,), (3,), offset)
        say(torch.autograd.grad((y * torch.tensor([2.0, 3.0])).sum(), r))
    y = r * 1
    v = y.as_strided((2, 2), (4, 1), 1)
    v.mul_(10)
    say(y, v, torch.autograd.grad(y.sum(), r))


@program
def strided_of_gaps_and_kinds(torch, say):
    a = np.arange(10.0)
    t = torch.from_numpy(a[2:])
    say(t.storage_offset(), t.untyped_storage().nbytes(), t[1:].detach().as_strided((2,), (1,), 0))
    t = torch.from_numpy(a[::2])
    say(t.untyped_storage().nbytes(), t.as_strided((3,), (1,)), t[1:].as_strided((2,), (1,)))
    t.requires_grad_()
    say(torch.autograd.grad(t.as_strided((2,), (4,), 2).sum(), t))
    h = torch.arange(6, dtype=torch.float16, requires_grad=True)
    say(torch.autograd.grad(h[1:].as_strided((2,), (2,)).sum(), h))
    z = torch.tensor([1 + 2j, 3 + 4j]).imag.detach()
    say(z.as_strided((2,), (1,), 0))


@program
def copies(torch, say):
    x = torch.arange(12.0).reshape(3, 4)
    file = io.BytesIO()
    torch.save([x[1:].detach(), x[0], x], file)
    file.seek(0)
    found = torch.load(file)
    say([v.storage_offset() for v in found], found[0].untyped_storage().nbytes())
    say(found[0].data_ptr() - found[2].data_ptr())
    made = copy.deepcopy([x[1:].detach(), x[0].detach()])
    say([v.storage_offset() for v in made], made[0].as_strided((2,), (1,), 0))
    other = pickle.loads(pickle.dumps(x[1:].detach()))
    say(other.storage_offset(), other.untyped_storage().nbytes())
    near = copy.copy(x[1:].detach())
    say(near.storage_offset(), near.data_ptr() - x.data_ptr())


@program
def other_memory(torch, say):
    x, y = torch.ones(3), torch.arange(6.0)
    say(x.set_(y) is x, x, x._version, y._version, x.data_ptr() == y.data_ptr())
    x.add_(1)
    say(y, x._version, y._version)
    x.set_(y.untyped_storage(), 1, (2, 2), (2, 1))
    say(x, x.storage_offset(), x._version, x.is_contiguous())
    x.set_()
    say(x, x._version)
    x.set_(y[2:])
    say(x, x.storage_offset(), x._base, x._version)
    leaf = torch.ones(3, requires_grad=True)
    tried(say, lambda: leaf.set_(y))
    tried(say, lambda: (leaf * 1).set_(y).grad_fn.name()[-14:])
    tried(say, lambda: x.set_(torch.ones(2, dtype=torch.int64)))
    tried(say, lambda: x.set_(y.untyped_storage()))
    tried(say, lambda: x.set_(leaf).requires_grad)
    b, w = torch.arange(8.0), torch.zeros(2)
    w.data = b[3:]
    say(w.storage_offset(), w, w._version)
    w[0] = 9
    say(b)
    say(b.is_set_to(b), b.is_set_to(b.view(8)), b.is_set_to(b.clone()), b.is_set_to(b[1:]))


@program
def resized(torch, say):
    w = torch.arange(4.0)
    v = w.view(4)
    w.resize_(2)
    w[0] = 7
    say(w, v, w.untyped_storage().nbytes(), w.storage_offset())
    w.resize_(6)
    say(w[:4], w.untyped_storage().nbytes())
    w.resize_(2, 2)
    say(w, w.stride())
    tried(say, lambda: torch.ones(2, requires_grad=True).resize_(3))


@program
def storages(torch, say):
    b = torch.arange(8.0)
    s = b.untyped_storage()
    say(len(s), s.size(), s.device, type(s).__name__, s.tolist()[12:17], s[13], list(s)[:3])
    say(s.data_ptr() == b.data_ptr(), s.is_shared(), s.is_pinned(), s.is_cuda)
    s[12] = 1
    say(b[3], s.clone().data_ptr() != s.data_ptr(), s.clone().tolist() == s.tolist())
    say(s.copy_(torch.ones(8).untyped_storage()) is s, b, b._version)
    tried(say, lambda: s[100])
    say(s[0:4].tolist(), torch.ones(1).untyped_storage())
    say(torch.empty(0).data_ptr(), torch.empty(0).untyped_storage().nbytes())
    m = torch.ones(3, 4).expand(2, 3, 4)
    say(m.storage_offset(), m.untyped_storage().nbytes(), m.detach().stride())
    say(torch.ones(2, 3).sum(0).untyped_storage().nbytes())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_pytorch(program):
    same(program)


def test_no_gradient_beyond_a_detached_view():
    import funcgrad.torch as torch

    x = torch.arange(12.0)
    d = x[4:].detach()
    assert d.as_strided((2,), (1,), 2).tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="through which no gradient can go"):
        d.requires_grad_().as_strided((2,), (1,), 2)
    gaps = torch.from_numpy(np.arange(10.0)[::2]).requires_grad_()
    with pytest.raises(RuntimeError, match="clone"):
        gaps.as_strided((2,), (1,))
