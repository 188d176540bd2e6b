# seed 001: repr with grad_fn, x.grad
import funcgrad.torch as torch

x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()
print(z, out)
out.backward()
print(x.grad)
