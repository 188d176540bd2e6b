"""Views of complex numbers as real ones and back: writing either, and looking at the other."""

import pytest

from .programs import agree, programs


def real_part_written(torch, say):
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * 1
    y.real.mul_(2)
    (y.abs() ** 2).sum().backward()
    say(x.grad, y)


def base_of_parts_written(torch, say):
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * 1
    parts = torch.view_as_real(y)
    y.mul_(2j)
    (parts**2).sum().backward()
    say(x.grad, parts, parts.grad_fn.name())


def numbers_of_pairs_written(torch, say):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    numbers = torch.view_as_complex(y)
    numbers.mul_(2j)
    (y**2).sum().backward()
    say(x.grad, y, numbers)


def base_of_numbers_written(torch, say):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    numbers = torch.view_as_complex(y)
    y.mul_(3)
    numbers.abs().sum().backward()
    say(x.grad, y, numbers)


def parts_assigned(torch, say):
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * 1
    y.imag[0] = 5.0
    y.real = torch.tensor([7.0, 8.0])
    (y * y.conj()).real.sum().backward()
    say(x.grad + 0, y)


def strides_of_parts(torch, say):
    x = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    imag = x.imag
    found = imag.as_strided((2,), (1,))
    say(found.detach(), imag.as_strided((2,), (1,), 0).detach())


def there_and_back(torch, say):
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * 1
    back = torch.view_as_complex(torch.view_as_real(y))
    y.mul_(2)
    back.abs().sum().backward()
    say(x.grad)


def inside_a_transform(torch, say):
    def f(z):
        y = z * 1
        y.real.mul_(2)
        return y.abs().sum()

    say(torch.func.grad(f)(torch.tensor([1 + 2j, 3 - 1j])))


def with_tangents(torch, say):
    forward_ad = torch.autograd.forward_ad
    y = torch.tensor([1 + 2j, 3 - 1j])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(y, y * 2)
        dual.real.mul_(2)
        say(forward_ad.unpack_dual(dual).tangent)


def strides_of_a_scalar(torch, say):
    x = torch.tensor(2.0, requires_grad=True)
    y = x.as_strided((2,), (0,))
    (y * torch.tensor([1.0, 3.0])).sum().backward()
    say(x.grad)


def strides_of_a_transposed_result(torch, say):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.t() * 2
    z = y.as_strided((4,), (1,))
    (z * torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    say(y.stride(), z.detach(), x.grad)
    y = x.t() * 2
    y.as_strided((2,), (1,)).mul_(torch.tensor([3.0, 5.0]))
    x.grad = None
    (y * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
    say(y.detach(), x.grad)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)
