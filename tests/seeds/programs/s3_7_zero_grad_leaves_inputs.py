# seed 003, the text: optimizer.zero_grad()/model.zero_grad() clear parameters only, not an input's .grad
import funcgrad.torch as torch

net = torch.nn.Linear(2, 1)
with torch.no_grad():
    net.weight.fill_(0.5)
    net.bias.fill_(0.25)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(1, 2, requires_grad=True)
net(x).sum().backward()
print(x.grad, net.weight.grad, net.bias.grad)
opt.zero_grad()
print(x.grad, net.weight.grad, net.bias.grad)
net(x).sum().backward()
print(x.grad, net.weight.grad, net.bias.grad)
opt.step()
print(net.weight, net.bias)
