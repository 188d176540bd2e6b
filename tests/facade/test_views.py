"""Views and in-place changes: values, versions, histories and refusals, as PyTorch has them."""

import pytest

from .both import same


def chain(t):
    """The names of the nodes behind a tensor, along the first input."""
    names, node = [], t.grad_fn
    while node is not None:
        names.append(node.name())
        nexts = [n for n, _ in node.next_functions if n is not None]
        node = nexts[0] if nexts else None
    return names


def tree(node):
    """All nodes behind a node, with the numbers of their outputs."""
    if node is None:
        return "-"
    below = ", ".join(f"{tree(n)}:{k}" for n, k in node.next_functions)
    return f"{node.name()}({below})"


PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def slice_written(torch, say):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    v = y[1:]
    v.mul_(10)
    say(y, v, y._version, v._version, tree(y.grad_fn), tree(v.grad_fn))
    (y * y).sum().backward()
    say(x.grad)


@program
def base_written(torch, say):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    v = y[1:]
    y.mul_(3)
    say(v, v._version, tree(v.grad_fn), v._is_view(), v._base is y)
    (v * v).sum().backward()
    say(x.grad)


@program
def two_views(torch, say):
    x = torch.arange(6.0, requires_grad=True)
    y = x * 1
    a, b = y[:4], y[2:]
    a.mul_(2)
    b.add_(1)
    say(y, a, b, y._version)
    (a.sum() * b.sum()).backward()
    say(x.grad)


@program
def view_of_view(torch, say):
    x = torch.arange(12.0, requires_grad=True)
    y = x + 0
    v = y.view(3, 4)
    w = v[1]
    u = w[1:3]
    u.fill_(7)
    say(y, v, w, u)
    say(v._base is y, w._base is y, u._base is y)
    (v * v).sum().backward()
    say(x.grad)


@program
def transpose_written(torch, say):
    x = torch.arange(6.0, requires_grad=True)
    y = (x * 2).view(2, 3)
    z = y.t()
    z[0] = torch.tensor([5.0, 6.0])
    say(y, z, tree(z.grad_fn))
    (y * y).sum().backward()
    say(x.grad)


@program
def setitem_of_grad(torch, say):
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.zeros(4)
    b[1:3] = v * 3
    say(b, b.requires_grad, b.is_leaf, tree(b.grad_fn))
    (b * b).sum().backward()
    say(v.grad)


@program
def leaf_refused(torch, say):
    x = torch.ones(3, requires_grad=True)
    for act in (
        lambda: x.add_(1),
        lambda: x[0].fill_(1),
        lambda: x.__setitem__(0, 1.0),
        lambda: x.view(3).zero_(),
        lambda: x[1:].mul_(2),
        lambda: torch.relu_(x) if hasattr(torch, "relu_") else x.relu_(),
    ):
        try:
            act()
        except RuntimeError as error:
            say(error)
    say(x, x._version)
    with torch.no_grad():
        x.add_(1)
        x[0] = 5
    say(x, x._version, x.is_leaf)


@program
def saved_modified(torch, say):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    try:
        z.sum().backward()
    except RuntimeError as error:
        say(error)
    say(x.grad)


@program
def saved_output_modified(torch, say):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    try:
        y.sum().backward()
    except RuntimeError as error:
        say(error)


@program
def saved_output_of_inplace(torch, say):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = x * 1
    y.exp_()
    y.sum().backward()
    say(x.grad, tree(y.grad_fn))
    z = x * 1
    z.sigmoid_()
    z.add_(1)
    try:
        z.sum().backward()
    except RuntimeError as error:
        say(error)


@program
def leaf_changed_under_no_grad(torch, say):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    try:
        loss.backward()
    except RuntimeError as error:
        say(error)
    loss = (w * 3).sum()
    with torch.no_grad():
        w.sub_(0.1)
    loss.backward()
    say(w.grad, w._version)


@program
def data_and_detach_versions(torch, say):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    d = y.detach()
    e = y.data
    d.add_(1)
    say(y._version, d._version, e._version, y, e)
    e.add_(1)
    say(y._version, d._version, e._version, y, d)
    z = (y * y).sum()
    d.zero_()
    try:
        z.backward()
    except RuntimeError as error:
        say(error)


@program
def data_is_unseen(torch, say):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.data.zero_()
    z.backward()
    say(x.grad)


@program
def unbind_refused(torch, say):
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 2
    a, b = y.unbind(0)
    say(a, b, a.grad_fn.name(), b.output_nr)
    try:
        a.add_(1)
    except RuntimeError as error:
        say(error)
    c, d = y.split(1)
    try:
        d.add_(1)
    except RuntimeError as error:
        say(error)
    (a * b * 3).sum().backward()
    say(x.grad)


@program
def expand_refused(torch, say):
    x = torch.ones(1, 2)
    y = x.expand(3, 2)
    try:
        y.add_(1)
    except RuntimeError as error:
        say(error)


@program
def no_grad_view(torch, say):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        v = y[1:]
    say(v.requires_grad, v._is_view())
    try:
        v.add_(1)
    except RuntimeError as error:
        say(error)
    with torch.no_grad():
        v.add_(1)
    say(y, y._version)


@program
def view_of_plain_written_with_grad(torch, say):
    b = torch.zeros(3)
    v = b[1:]
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    v.copy_(w * w)
    say(b, b.requires_grad, tree(b.grad_fn), v.requires_grad, tree(v.grad_fn))
    b.sum().backward()
    say(w.grad)


@program
def view_of_plain_without_grad(torch, say):
    b = torch.zeros(3)
    v = b[1:]
    v.add_(1)
    b.mul_(2)
    say(b, v, b._version, v._version, v.grad_fn)


@program
def in_place_chain(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    y += 1
    y *= 2
    y -= x
    y /= 2
    y **= 2
    say(y, tree(y.grad_fn))
    y.sum().backward()
    say(x.grad)


@program
def iadd_rebinding(torch, say):
    a = torch.ones(2)
    b = a
    a += 1
    say(a is b, b)
    c = torch.ones(2, requires_grad=True) * 1
    d = c
    c += torch.ones(2)
    say(c is d, d, d.grad_fn.name())


@program
def masked_and_indexed_writes(torch, say):
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    y[y > 1.5] = 0
    y[[0, 1]] = torch.tensor([9.0, 8.0])
    say(y, tree(y.grad_fn))
    z = x * 1
    z[torch.tensor([0, 2])] *= 5
    say(z, tree(z.grad_fn))
    (y.sum() + (z * z).sum()).backward()
    say(x.grad)


@program
def write_of_scalar_tensor_and_cast(torch, say):
    b = torch.zeros(3)
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    b[1] = s
    say(b, tree(b.grad_fn))
    b.sum().backward()
    say(s.grad)
    i = torch.zeros(2, dtype=torch.int64)
    i[0] = 2.7
    say(i)
    try:
        i.add_(1.5)
    except RuntimeError as error:
        say(error)
    try:
        torch.zeros(2).add_(torch.zeros(3, 2))
    except RuntimeError as error:
        say(error)


@program
def retain_grad_follows(torch, say):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    say(y.grad, x.grad)


@program
def hook_before_and_after_in_place(torch, say):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: say("before", g))
    y.mul_(3)
    y.register_hook(lambda g: say("after", g))
    y.sum().backward()
    say(x.grad)


@program
def view_hooks(torch, say):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    v = y[1:]
    v.register_hook(lambda g: say("view", g))
    y.register_hook(lambda g: say("base", g))
    v.mul_(2)
    (y.sum() + v.sum()).backward()
    say(x.grad)


@program
def requires_grad_changes(torch, say):
    x = torch.ones(2)
    x.requires_grad_()
    say(x.requires_grad, x.is_leaf)
    x.requires_grad = False
    say(x.requires_grad)
    y = torch.ones(2, requires_grad=True) * 2
    try:
        y.requires_grad_(False)
    except RuntimeError as error:
        say(error)
    try:
        torch.ones(2, dtype=torch.int64).requires_grad_()
    except RuntimeError as error:
        say(error)
    say(y.requires_grad_())


@program
def requires_grad_of_base_after_view(torch, say):
    b = torch.zeros(3)
    v = b[1:]
    b.requires_grad_()
    say(v.requires_grad, v.is_leaf)
    try:
        v.add_(1)
    except RuntimeError as error:
        say(error)


@program
def detach_in_place(torch, say):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    y.detach_()
    say(y, y.requires_grad, y.is_leaf)
    z.sum().backward()
    say(x.grad)
    w = (x * 2)[0:1]
    try:
        w.detach_()
    except RuntimeError as error:
        say(error)


@program
def clone_and_contiguous(torch, say):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    t = x.t()
    say(t.is_contiguous(), t.stride(), x.stride())
    c = t.contiguous()
    say(c.stride(), c.grad_fn.name())
    try:
        t.view(6)
    except RuntimeError as error:
        say(error)
    say(t.reshape(6), t.reshape(6).grad_fn.name())
    (t.reshape(6) * torch.arange(6.0)).sum().backward()
    say(x.grad)


@program
def diagonal_and_strided(torch, say):
    x = torch.arange(9.0, requires_grad=True)
    y = (x * 1).view(3, 3)
    d = y.diagonal()
    d.mul_(10)
    say(y, d, tree(d.grad_fn))
    s = (x * 1).as_strided((2, 2), (3, 1), 1)
    say(s, s.grad_fn.name())
    (y.sum() + (s * s).sum()).backward()
    say(x.grad)


@program
def inference_tensors(torch, say):
    with torch.inference_mode():
        a = torch.ones(2)
        a.add_(1)
        b = a * 2
    say(a.is_inference(), b.requires_grad)
    for act in (
        lambda: a.add_(1),
        lambda: a.requires_grad_(),
        lambda: a._version,
        lambda: torch.ones(2, requires_grad=True) * a,
        lambda: a.view(2, 1).requires_grad,
        lambda: a.clone().requires_grad_().requires_grad,
    ):
        try:
            say(act())
        except RuntimeError as error:
            say(error)


@program
def copy_slices_of_two_kinds(torch, say):
    x = torch.ones(4, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x * 1
    y[:2] = w * 5
    y[1:3] *= 2
    say(y, tree(y.grad_fn))
    (y * torch.arange(4.0)).sum().backward()
    say(x.grad, w.grad)


@program
def second_order_through_writes(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y[0] = y[1] * x[0]
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    say(g)
    (h,) = torch.autograd.grad(g.sum(), x)
    say(h)


@program
def swap_by_views(torch, say):
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    first = y[0].clone()
    y[0] = y[3]
    y[3] = first
    say(y)
    (y * torch.arange(4.0)).sum().backward()
    say(x.grad)


@program
def zero_and_fill(torch, say):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.zero_()
    say(y, tree(y.grad_fn))
    y[1] = 3
    (y + x).sum().backward()
    say(x.grad)
    s = torch.tensor(2.0, requires_grad=True)
    z = torch.zeros(2)
    z.fill_(s)
    say(z, tree(z.grad_fn))
    z.sum().backward()
    say(s.grad)


@program
def numpy_shares_memory(torch, say):
    x = torch.zeros(3)
    n = x.numpy()
    n[0] = 5
    x[1] = 7
    say(x, n.tolist(), x._version)
    y = torch.from_numpy(n)
    y.add_(1)
    say(x, n.tolist())
    try:
        torch.ones(2, requires_grad=True).numpy()
    except RuntimeError as error:
        say(error)


@program
def grad_accumulates_in_the_same_object(torch, say):
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    g = x.grad
    (x * 3).sum().backward()
    say(g is x.grad, g, g._version)
    x.grad = None
    (x * 3).sum().backward()
    say(g is x.grad, g, x.grad)
    x.grad.zero_()
    say(x.grad)


@program
def view_as_real_part(torch, say):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    r = z.real
    say(r, r.grad_fn.name(), r._is_view())
    (r * r).sum().backward()
    say(z.grad + 0)  # the sign of a zero is not promised


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    same(PROGRAMS[name])
