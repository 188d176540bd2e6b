# seed 001, the note: .grad of a non-leaf gives a UserWarning and None
import funcgrad.torch as torch

x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()
out.backward()
print(y.grad)
print(x.requires_grad, y.requires_grad, z.requires_grad, out.requires_grad)
print(x.grad_fn, x.is_leaf)
print(
    y.grad_fn is None,
    type(y.grad_fn).__name__,
    type(z.grad_fn).__name__,
    type(out.grad_fn).__name__,
)
