# seed 000, example 1: which nodes are leaves
import funcgrad.torch as torch

a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=False)
d = a + b
d.backward()
print(a.is_leaf)
print(b.is_leaf)
print(d.is_leaf)
c = torch.tensor(1.0, requires_grad=False)
e = b + c
print(b.is_leaf)
print(c.is_leaf)
print(e.is_leaf)
