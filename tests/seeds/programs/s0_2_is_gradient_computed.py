# seed 000, example 2: is the gradient computed
import funcgrad.torch as torch

a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=False)
d = a + b
c = torch.tensor(1.0, requires_grad=True)
e = a + c
d = d.detach()
print(d.requires_grad)
f = d + e
f.backward()
print(a.grad)
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=False)
d = a + b
c = torch.tensor(1.0, requires_grad=True)
d = d.detach()
f = d + c
f.backward()
print(a.grad)
