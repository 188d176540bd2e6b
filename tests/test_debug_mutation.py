"""`debug.check_mutation`: an array that a derivative or a graph needs is not written into."""

import numpy as np
import pytest

import funcgrad as fg

WORK = np.ones(3)
SEEN_BEFORE = WORK[:2]
X = np.ones(3)
LARGE = np.ones(600_000)


def writes(x):
    y = np.sum(x * WORK)
    WORK[0] = 5.0
    return y


def writes_in_place(x):
    y = np.sum(x * WORK)
    np.add(WORK, 1.0, out=WORK)
    return y


def writes_through_a_view(x):
    y = np.sum(x * WORK)
    SEEN_BEFORE[0] = 5.0
    return y


def counts(x):
    WORK[1] += 1.0
    return np.sum(x)


def prepares(x):
    mask = np.zeros(3)
    mask[0] = 1.0
    return np.sum(x * mask * WORK)


CALLS = {
    "grad": lambda f: fg.grad(f)(X),
    "vjp": lambda f: fg.vjp(f, X)[1](1.0),
    "hessian": lambda f: fg.hessian(f)(X),
    "jit": lambda f: fg.jit(f)(X),
    "jit of grad": lambda f: fg.jit(fg.grad(f))(X),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(X),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f))(X),
}


@pytest.fixture(autouse=True)
def nothing_stays_locked():
    WORK[:] = 1.0
    yield
    for x in (WORK, SEEN_BEFORE, X, LARGE):
        assert x.flags.writeable


def line(f, k):
    return f'test_debug_mutation.py", line {f.__code__.co_firstlineno + k}, in {f.__name__}'


@pytest.mark.parametrize("f", [writes, writes_in_place])
@pytest.mark.parametrize("name", CALLS)
def test_the_line_that_writes_is_named(name, f):
    with pytest.raises(fg.errors.MutatedCaptureError) as caught, fg.debug.check_mutation():
        CALLS[name](f)
    assert line(f, 2) in str(caught.value)
    np.testing.assert_array_equal(WORK, 1.0)


@pytest.mark.parametrize("name", ["grad", "vjp", "checkpoint"])
def test_a_write_through_an_older_view_names_the_line_of_use(name):
    with pytest.raises(fg.errors.MutatedCaptureError) as caught, fg.debug.check_mutation():
        CALLS[name](writes_through_a_view)
    assert f'it was used at File "{__file__}"' in str(caught.value)
    assert line(writes_through_a_view, 1) in str(caught.value)


@pytest.mark.parametrize("name", ["jit", "jit of grad", "grad of jit"])
def test_a_view_that_a_compiled_function_reaches_is_locked_too(name):
    with pytest.raises(fg.errors.MutatedCaptureError) as caught, fg.debug.check_mutation():
        CALLS[name](writes_through_a_view)
    assert line(writes_through_a_view, 2) in str(caught.value)


@pytest.mark.parametrize("name", ["jit", "jit of grad", "grad of jit"])
def test_what_a_compiled_function_would_do_once_is_found(name):
    with pytest.raises(fg.errors.MutatedCaptureError) as caught, fg.debug.check_mutation():
        CALLS[name](counts)
    assert line(counts, 1) in str(caught.value)


def test_a_compiled_function_is_traced_anew():
    f = fg.jit(lambda x: (np.sum(x * WORK), WORK.__setitem__(0, 1.0))[0])
    f(X)
    with pytest.raises(fg.errors.MutatedCaptureError), fg.debug.check_mutation():
        f(X)


@pytest.mark.parametrize("x", [np.ones(3), np.ones(600_000)])
def test_between_a_function_and_its_pullback(x):
    def run():
        _, pull = fg.vjp(lambda v: np.sum(v * v), x)
        x[0] = 7.0
        return pull(1.0)

    with pytest.raises(fg.errors.MutatedCaptureError) as caught, fg.debug.check_mutation():
        run()
    assert line(run, 2) in str(caught.value)
    assert x.flags.writeable and x[0] == 1.0


@pytest.mark.parametrize("name", CALLS)
def test_what_writes_into_arrays_of_its_own_is_left_in_peace(name):
    with fg.debug.check_mutation():
        found = CALLS[name](prepares)
    np.testing.assert_array_equal(*(fg.tree.leaves(v)[0] for v in (found, CALLS[name](prepares))))


def test_arrays_may_change_between_gradients():
    x = np.ones(3)
    with fg.debug.check_mutation():
        for _ in range(3):
            _, pull = fg.vjp(lambda v: np.sum(v * v * WORK), x)
            x -= 0.1 * pull(1.0)[0]
            x -= 0.1 * fg.grad(prepares)(x)
            WORK[:] = x
            x -= 0.1 * fg.jit(fg.grad(prepares))(x)
            _, forgotten = fg.vjp(prepares, x)
            del forgotten
            x += 1.0


def test_an_array_that_cannot_be_written_into_stays_so():
    fixed = np.ones(3)
    fixed.flags.writeable = False
    view = fixed[:2]
    with fg.debug.check_mutation():
        fg.grad(lambda x: np.sum(x * fixed) + np.sum(x[:2] * view))(X)
    assert not fixed.flags.writeable and not view.flags.writeable


def test_other_errors_come_as_they_are():
    def fails(x):
        raise ValueError("assignment is not allowed")

    with pytest.raises(ValueError, match="assignment is not allowed"), fg.debug.check_mutation():
        fg.grad(fails)(X)
    with pytest.raises(ValueError, match="read-only"), fg.debug.check_mutation():
        np.broadcast_to(1.0, 3)[0] = 1.0
