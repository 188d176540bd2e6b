# seed 004, the last remark: an in-place change that the gradient does not need is no error
import funcgrad.torch as torch

a = torch.tensor([[2.0, 1.0]], requires_grad=True)
b = a * 3
c = b + 2
d = torch.mean(c)
c[0][0] = 100.0
d.backward()
print(a.grad)
print(c)
