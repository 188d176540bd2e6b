# seed 004, test02 with retain_grad
import funcgrad.torch as torch


def test02():
    a = torch.tensor([[2.0, 1.0]], requires_grad=True)
    b = torch.tensor([[1.0, 1.0]], requires_grad=True)
    c = a * 3
    d = b + 4
    e = c + d
    f = torch.mean(e)
    c.retain_grad()
    d.retain_grad()
    e.retain_grad()
    f.retain_grad()
    f.backward()
    print(a.grad)
    print(b.grad)
    print(c.grad)
    print(d.grad)
    print(e.grad)
    print(f.grad)


test02()
