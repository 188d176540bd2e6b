# seed 000, example 3: is the gradient kept
import funcgrad.torch as torch

a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=False)
d = a + b
d.backward()
print(a.is_leaf)
print(a.grad)
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=False)
d = a + b
print(d.is_leaf)
d.retain_grad()
d.backward()
print(d.is_leaf)
print(d.grad)
