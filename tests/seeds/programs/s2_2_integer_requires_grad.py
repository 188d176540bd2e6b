# seed 002, example 2: integers cannot require gradients
import funcgrad.torch as torch

w = torch.tensor([1], requires_grad=True)
x = torch.tensor([2], requires_grad=True)

a = torch.add(w, x)
b = torch.add(w, 2)
y = torch.mul(a, b)

y.backward()
print(w.grad)
