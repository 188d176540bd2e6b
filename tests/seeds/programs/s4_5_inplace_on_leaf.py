# seed 004, test03: an in-place change of a leaf that requires grad
import funcgrad.torch as torch


def test03():
    a = torch.tensor([[2.0, 1.0]], requires_grad=True)
    b = torch.tensor([[1.0, 1.0]], requires_grad=True)
    c = a * 3
    d = b + 4
    e = c + d
    f = torch.mean(e)
    a[0] = 100
    f.backward()


test03()
