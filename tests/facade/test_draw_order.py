"""Random numbers come in the order of memory: tensors that are transposed, stepped and cut."""

import pytest

import funcgrad.torch as ours

from .both import same

TENSORS = {
    "contiguous": lambda m: m.zeros(4, 5),
    "transposed": lambda m: m.zeros(3, 2).t(),
    "transposed, 40": lambda m: m.zeros(5, 8).t(),
    "permuted": lambda m: m.zeros(2, 3, 4).permute(2, 0, 1),
    "two exchanged": lambda m: m.zeros(2, 3, 4).permute(1, 0, 2),
    "every second row": lambda m: m.zeros(10, 5)[::2],
    "every second column": lambda m: m.zeros(10, 6)[::2].t(),
    "cut": lambda m: m.zeros(8, 9)[:, 2:7],
}
DRAWS = {
    "rand_like": lambda m, x: m.rand_like(x),
    "randn_like": lambda m, x: m.randn_like(x),
    "randint_like": lambda m, x: m.randint_like(x, 0, 100),
    "normal_": lambda m, x: x.normal_(),
    "uniform_": lambda m, x: x.uniform_(),
    "random_": lambda m, x: x.random_(0, 50),
    "bernoulli_": lambda m, x: x.bernoulli_(0.4),
    "exponential_": lambda m, x: x.exponential_(),
    "log_normal_": lambda m, x: x.log_normal_(),
    "dropout": lambda m, x: m.nn.functional.dropout(x + 1.0),
    "kaiming_uniform_": lambda m, x: m.nn.init.kaiming_uniform_(x),
    "trunc_normal_": lambda m, x: m.nn.init.trunc_normal_(x),
}


@pytest.mark.peers
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_strides_and_what_comes_next(name, kind):
    def program(m, say):
        m.manual_seed(3)
        y = DRAWS[name](m, TENSORS[kind](m))
        say([f"{v:.5g}" for v in y.flatten().tolist()], tuple(y.stride()))
        say(m.rand(1))

    same(program)


@pytest.mark.peers
def test_states_are_exchanged_with_pytorch():
    theirs = pytest.importorskip("torch")
    for drawn in (0, 1, 7, 624, 700):
        for one, other in ((ours, theirs), (theirs, ours)):
            one.manual_seed(5)
            one.rand(drawn)
            one.randn(3)  # an odd number: one is left
            state = one.get_rng_state()
            other.set_rng_state(other.tensor(state.tolist(), dtype=other.uint8))
            assert other.randn(3).tolist() == pytest.approx(one.randn(3).tolist(), abs=1e-6)
            assert other.rand(2).tolist() == one.rand(2).tolist()
            assert one.get_rng_state().tolist() == other.get_rng_state().tolist()
    ours.set_rng_state(theirs.get_rng_state())
    assert ours.rand(4).tolist() == theirs.rand(4).tolist()


def test_what_is_no_state():
    with pytest.raises(TypeError, match=r"expected a torch\.ByteTensor, but got list"):
        ours.set_rng_state([1, 2])
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        ours.set_rng_state(ours.zeros(5056))
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        ours.set_rng_state(ours.zeros(4, dtype=ours.uint8))


def uniform_numbers(torch, say):
    torch.manual_seed(0)
    half = torch.float16
    for x in (
        torch.rand(7000, dtype=half), torch.empty(7000, dtype=half).uniform_(-1, 3),
        torch.empty(7000, dtype=half).uniform_(2, 5), torch.rand_like(torch.ones(9, dtype=half)),
        torch.nn.functional.dropout(torch.ones(40, dtype=half)),
    ):  # fmt: skip
        say(x.dtype, x.tolist())


def test_uniform_numbers_of_half_precision_are_pytorchs():
    same(uniform_numbers)


def normal_numbers(torch, say):
    torch.manual_seed(0)
    for count in (5, 16, 20, 24, 40, 100):
        for dtype in (torch.float16, torch.float32, torch.float64):
            x = torch.randn(count, dtype=dtype)
            say(dtype, x, torch.empty(count, dtype=dtype).normal_(), torch.rand(1))


def test_normal_numbers_of_any_count_are_pytorchs():
    same(normal_numbers)
