# seed 000, example 1, the last comment: e.backward() is an error, no node requires grad
import funcgrad.torch as torch

b = torch.tensor(1.0, requires_grad=False)
c = torch.tensor(1.0, requires_grad=False)
e = b + c
e.backward()
