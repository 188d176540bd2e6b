# seed 003, example 4: two clones, the gradient at y doubles
from __future__ import print_function
import funcgrad.torch as torch
from funcgrad.torch.autograd import Variable

x = Variable(torch.ones(2, 2), requires_grad=True)
y = x + 2
y.register_hook(print)
h1 = y.clone()
h2 = y.clone()
z = h1 * h1 * 3 + h2 * h2 * 3
out = z.mean()
out.backward(retain_graph=True)
out.backward(retain_graph=True)
out.backward()
