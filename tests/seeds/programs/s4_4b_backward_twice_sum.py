# seed 004, test02 as written, backward called twice
import funcgrad.torch as torch

a = torch.tensor([[2.0, 1.0]], requires_grad=True)
b = torch.tensor([[1.0, 1.0]], requires_grad=True)
c = a * 3
d = b + 4
e = c + d
f = torch.mean(e)
f.backward()
print(a.grad, b.grad)
f.backward()
