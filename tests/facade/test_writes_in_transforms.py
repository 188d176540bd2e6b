"""In-place operations inside transforms: on arguments, captured tensors and new ones."""

import gc
import warnings

import pytest

import funcgrad.torch as ours

from .both import same, theirs


@pytest.fixture(autouse=True, scope="module")
def warm():
    """PyTorch's first `jvp` warns of its own doings."""
    if theirs is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.func.jvp(theirs.sin, (theirs.ones(1),), (theirs.ones(1),))


def rows(m):
    return m.arange(6.0).reshape(2, 3)


def write_row(a):
    a[0] = 5.0
    a.add_(1.0)
    return a.sum()


def write_view(a):
    a.view(-1)[0] = 9.0
    return a.sum()


def double(a):
    a.mul_(2.0)
    return a * a


def into_new(m):
    def f(a):
        b = m.zeros(3)
        b.copy_(a)
        b[0] = a[1]
        return (b * b).sum()

    return f


def into_result(m):
    c = m.ones(3)

    def f(a):
        b = c * 2
        b.copy_(a)
        return (b * b).sum()

    return f


def nested(m):
    def f(a):
        def g(b):
            b.add_(a)
            return (b * b).sum()

        return m.func.grad(g)(a * 1.0).sum()

    return f


def write_part(a):
    a[:2].mul_(2.0)
    return (a * a).sum()


PROGRAMS = {
    "vmap writes": lambda m, x: m.vmap(lambda a, b: a.add_(b))(x, m.ones(2, 3)),
    "vmap writes a row": lambda m, x: m.vmap(write_row)(x),
    "vmap writes a view": lambda m, x: m.vmap(write_view)(x),
    "vmap along columns": lambda m, x: m.vmap(write_view, in_dims=1)(x),
    "vmap in chunks": lambda m, x: m.vmap(write_row, chunk_size=1)(x),
    "vmap of a dictionary": lambda m, x: m.vmap(lambda d: d["x"].mul_(2.0))({"x": x}),
    "vmap within vmap": lambda m, x: m.vmap(m.vmap(lambda a: a.mul_(2.0)))(x),
    "argument that is not mapped": lambda m, x: m.vmap(
        lambda a, b: b.add_(1.0) * 0 + a, in_dims=(0, None)
    )(m.ones(2, 3), x[0]),
    "jvp": lambda m, x: m.func.jvp(double, (x,), (m.ones(2, 3),)),
    "jacfwd": lambda m, x: m.func.jacfwd(lambda a: a.mul_(2.0) * 1)(x[0]),
    "vjp": lambda m, x: m.func.vjp(double, x)[0],
    "grad": lambda m, x: m.func.grad(lambda a: double(a).sum())(x),
    "grad of a part": lambda m, x: m.func.grad(write_part)(x[0]),
    "jacrev": lambda m, x: m.func.jacrev(double)(x),
    "nested grad": lambda m, x: m.func.grad(nested(m))(x[0]),
    "grad into a new tensor": lambda m, x: m.func.grad(into_new(m))(x[1]),
    "grad into a result": lambda m, x: m.func.grad(into_result(m))(x[1]),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    def program(m, say):
        x = rows(m).clone()
        try:
            say(PROGRAMS[name](m, x))
        finally:
            say(x)

    same(program)


@pytest.mark.peers
def test_vmap_writes_into_what_is_recorded():
    def program(m, say):
        x = m.ones(2, 3, requires_grad=True)
        z = x * 1
        found = m.vmap(lambda a: a.mul_(2.0).sum())(z)
        (found.sum() + z.sum()).backward()
        say(found.tolist(), z, x.grad)
        m.vmap(lambda a: a.mul_(2.0))(x)

    same(program)


@pytest.mark.peers
def test_views_that_were_made_to_require_grad_are_leaves():
    def program(m, say):
        for make in (lambda: m.arange(6.0).reshape(2, 3), lambda: m.arange(6.0)[1:]):
            for write in (lambda x: x.mul_(2.0), lambda x: x[0:1].mul_(2.0)):
                x = make().requires_grad_()
                try:
                    write(x)
                except RuntimeError as error:
                    say(error)
                say(x)

    same(program)


@pytest.mark.parametrize("transform", ["grad", "vmap", "jvp"])
def test_values_of_a_transform_do_not_stay_in_captured_tensors(transform):
    kept = ours.zeros(3)

    def f(a):
        kept.copy_(a)
        return (a * a).sum()

    with pytest.raises(RuntimeError, match=r"captured Tensor|vmapped over"):
        if transform == "grad":
            ours.func.grad(f)(ours.ones(3))
        elif transform == "vmap":
            ours.vmap(f)(ours.ones(2, 3))
        else:
            ours.func.jvp(f, (ours.ones(3),), (ours.ones(3),))
    assert kept.tolist() == [0.0, 0.0, 0.0]


def test_new_tensors_take_values_of_every_example():
    """PyTorch refuses what is not mapped itself."""
    found = ours.vmap(ours.func.grad(into_new(ours)))(rows(ours))
    assert found.tolist() == [[0.0, 4.0, 4.0], [0.0, 16.0, 10.0]]


def test_a_new_tensor_in_a_cycle_is_no_capture():
    def f(a):
        holder = {"b": ours.zeros(3)}
        holder["self"] = holder
        holder["b"].copy_(a)
        return (holder["b"] ** 2).sum()

    gc.disable()
    try:
        assert ours.func.grad(f)(ours.ones(3)).tolist() == [2.0, 2.0, 2.0]
    finally:
        gc.enable()
