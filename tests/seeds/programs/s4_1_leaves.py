# seed 004, test01
import funcgrad.torch as torch


def test01():
    a = torch.tensor([[2.0, 1.0]], requires_grad=True)
    b = torch.tensor([[1.0, 1.0]], requires_grad=True)
    c = a * 3
    d = b + 4
    e = c + d
    f = torch.mean(e)
    print(a.is_leaf)
    print(b.is_leaf)
    print(c.is_leaf)
    print(d.is_leaf)
    print(e.is_leaf)
    print(f.is_leaf)


if __name__ == "__main__":
    test01()
