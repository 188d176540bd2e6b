# seed 004, test04: an in-place change of a value that backward needs
import funcgrad.torch as torch


def test04():
    a = torch.tensor([[2.0, 1.0]], requires_grad=True)
    b = a**3
    c = b**2
    d = torch.mean(c)
    b[0][0] = 100.0
    d.backward()


test04()
