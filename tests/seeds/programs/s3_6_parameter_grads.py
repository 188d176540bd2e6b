# seed 003, example 6: printing parameters' gradients (a net is made here; the post shows the loop only)
import funcgrad.torch as torch

net = torch.nn.Linear(2, 1)
with torch.no_grad():
    net.weight.fill_(0.5)
    net.bias.fill_(0.25)
for f in net.parameters():
    print(f.grad)
net(torch.ones(3, 2)).sum().backward()
for f in net.parameters():
    print(f.grad)
net.zero_grad()
for f in net.parameters():
    print(f.grad)
