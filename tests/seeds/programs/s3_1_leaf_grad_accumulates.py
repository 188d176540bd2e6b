# seed 003, example 1: the leaf's gradient accumulates
from __future__ import print_function
import funcgrad.torch as torch
from funcgrad.torch.autograd import Variable

x = Variable(torch.ones(2, 2), requires_grad=True)
y = x + 2
# y.register_hook(print)
z = y * y * 3
out = z.mean()
out.backward(retain_graph=True)
print(x.grad)
out.backward(retain_graph=True)
print(x.grad)
out.backward()
print(x.grad)
