"""Programs about derivatives: hooks, modes of differentiation, Jacobians, functions of networks."""

import copy

import pytest

from .compare import agree, learned


def tensors_and_numpy(t):
    """The tour of tensors: they share memory with arrays, and write in place."""
    import numpy as np

    data = [[1, 2], [3, 4]]
    x_data = t.tensor(data)
    x_np = t.from_numpy(np.array(data))
    x_rand = t.rand_like(x_data, dtype=t.float)
    tensor = t.ones(4, 4)
    tensor[:, 1] = 0
    joined = t.cat([tensor, tensor, tensor], dim=1)
    products = [tensor @ tensor.T, tensor.matmul(tensor.T), tensor * tensor]
    shared = t.ones(5)
    n = shared.numpy()
    shared.add_(1)
    np.add(n, 1, out=n)
    views = [x_data.view(4), x_data.t(), joined[..., -1], joined.reshape(2, -1)[:, ::3]]
    return {
        "shown": [str(v) for v in (x_data, x_np, tensor, shared, *views)],
        "rand": x_rand,
        "products": products,
        "about": [
            joined.shape,
            joined.dtype.is_floating_point,
            joined.stride(),
            str(joined.device),
            joined.sum().item(),
            tensor.element_size(),
        ],
    }


def autograd_tour(t):
    """Leaves, graphs, accumulating gradients, what is not differentiated, and a vector product."""
    x = t.ones(5)
    w = t.randn(5, 3, requires_grad=True)
    b = t.randn(3, requires_grad=True)
    z = t.matmul(x, w) + b
    loss = t.nn.functional.binary_cross_entropy_with_logits(z, t.zeros(3))
    names = [type(z.grad_fn).__name__, type(loss.grad_fn).__name__]
    loss.backward()
    inp = t.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    out.backward(t.ones_like(out), retain_graph=True)
    first = inp.grad.clone()
    out.backward(t.ones_like(out), retain_graph=True)
    second = inp.grad.clone()
    inp.grad.zero_()
    out.backward(t.ones_like(out))
    with t.no_grad():
        quiet = t.matmul(x, w) + b
    return {
        "names": names,
        "w": w.grad,
        "b": b.grad,
        "first": first,
        "second": second,
        "third": inp.grad,
        "quiet": [quiet.requires_grad, z.detach().requires_grad],
    }


def hooks(t):
    """What hooks see and change: of tensors, of modules forward and backward, and their removal."""
    nn = t.nn
    seen = []
    model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2))
    kept = {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = output.detach()

        return hook

    handles = [m.register_forward_hook(keep(n)) for n, m in model.named_children()]
    model[2].register_full_backward_hook(lambda m, gi, go: seen.append([gi[0], go[0]]))
    model[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    model[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.norm()))
    x = t.randn(5, 3, requires_grad=True)
    h = model[:2](x)
    h.register_hook(lambda g: g.clamp(-0.05, 0.05))
    h.retain_grad()
    model[2](h).square().mean().backward()
    before = dict(kept)
    for handle in handles:
        handle.remove()
    kept.clear()
    model(x)
    return {
        "kept": before,
        "gone": len(kept),
        "seen": seen,
        "h": h.grad,
        "x": x.grad,
        "w": model[0].weight.grad,
    }


def numpy_function(t):
    """A function whose forward and backward passes leave the tape for NumPy, and their check."""
    import numpy as np

    class Sinc(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return t.from_numpy(np.sinc(x.detach().numpy() / np.pi))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            n = x.detach().numpy()
            return g * t.from_numpy((n * np.cos(n) - np.sin(n)) / n**2)

    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = t.randn(6, requires_grad=True)
    checks = [
        t.autograd.gradcheck(Sinc.apply, x),
        t.autograd.gradcheck(Cube.apply, x),
        t.autograd.gradgradcheck(Cube.apply, x),
    ]
    (g,) = t.autograd.grad(Sinc.apply(x).sum(), x)
    first = t.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)[0]
    return {"checks": checks, "g": g, "second": t.autograd.grad(first.sum(), x)[0]}


def forward_mode(t):
    """Tangents that go along: of functions, of modules, of functions of one's own."""
    fwad = t.autograd.forward_ad
    primal, tangent = t.randn(4, 4), t.randn(4, 4)
    with fwad.dual_level():
        dual = fwad.make_dual(primal, tangent)
        y = t.sin(dual) @ dual.T
        found = fwad.unpack_dual(y)
    outside = fwad.unpack_dual(y).tangent
    model = t.nn.Sequential(t.nn.Linear(4, 4), t.nn.Tanh(), t.nn.Linear(4, 1))
    params = dict(model.named_parameters())
    tangents = {k: t.rand_like(p) for k, p in params.items()}
    value, moved = t.func.jvp(
        lambda p: t.func.functional_call(model, p, (primal,)), (params,), (tangents,)
    )
    return {
        "value": found.primal,
        "moved": found.tangent,
        "outside": outside,
        "module": [value, moved],
    }


def jacobians(t):
    """Jacobians row by row, by vmap, forward and backward, Hessians, and products with them."""
    func = t.func
    weight, bias, x = t.randn(5, 5), t.randn(5), t.randn(5)

    def predict(weight, bias, x):
        return t.nn.functional.linear(x, weight, bias).tanh()

    xp = x.clone().requires_grad_()
    rows = t.stack([t.autograd.grad(predict(weight, bias, xp), xp, v)[0] for v in t.eye(5)])
    pullback = func.vjp(lambda x: predict(weight, bias, x), x)[1]
    by_map = func.vmap(pullback)(t.eye(5))[0]
    rev, fwd = func.jacrev(predict, argnums=(0, 2)), func.jacfwd(predict, argnums=2)
    second = func.hessian(predict, argnums=2)(weight, bias, x)
    batched = func.vmap(func.jacrev(predict, argnums=2), (None, None, 0))(
        weight, bias, t.randn(3, 5)
    )

    def hvp(f, x, v):
        return func.jvp(func.grad(f), (x,), (v,))[1]

    product = hvp(lambda x: predict(weight, bias, x).square().sum(), x, t.ones(5))
    old = t.autograd.functional.hessian(lambda x: predict(weight, bias, x).sum(), x)
    assert t.allclose(rows, by_map)
    return {
        "rows": rows,
        "rev": rev(weight, bias, x),
        "fwd": fwd(weight, bias, x),
        "second": second,
        "batched": batched,
        "product": product,
        "old": old,
    }


def per_sample(t):
    """A gradient of each example at once: of a convolutional network."""
    nn, func = t.nn, t.func
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 4)
    )
    images, labels = t.randn(5, 1, 8, 8), t.randint(0, 4, (5,))
    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss_of(params, image, label):
        found = func.functional_call(model, params, (image[None],))
        return nn.functional.cross_entropy(found, label[None])

    grads = func.vmap(func.grad(loss_of), in_dims=(None, 0, 0))(params, images, labels)
    for k, (image, label) in enumerate(zip(images, labels, strict=True)):
        model.zero_grad()
        nn.functional.cross_entropy(model(image[None]), label[None]).backward()
        for name, p in model.named_parameters():
            assert t.allclose(grads[name][k], p.grad, atol=1e-10), name
    norms = {k: g.flatten(1).norm(dim=1) for k, g in grads.items()}
    return {"grads": grads, "norms": norms}


def ensemble(t):
    """Many networks as one: their weights are stacked, and vmap runs them side by side."""
    nn, func = t.nn, t.func

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 3)

        def forward(self, x):
            return self.fc2(nn.functional.relu(self.fc1(x.flatten(1))))

    models = [MLP() for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    base = copy.deepcopy(models[0])
    data = t.randn(4, 5, 2, 3)

    def run(params, buffers, x):
        return func.functional_call(base, (params, buffers), (x,))

    each = func.vmap(run)(params, buffers, data)
    same = func.vmap(run, in_dims=(0, 0, None))(params, buffers, data[0])
    for k, m in enumerate(models):
        assert t.allclose(each[k], m(data[k]))
    return {"each": each, "same": same, "shapes": {k: list(v.shape) for k, v in params.items()}}


def tangent_kernel(t):
    """The neural tangent kernel in two ways: Jacobians contracted, and products without them."""
    nn, func = t.nn, t.func
    net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
    params = {k: v.detach() for k, v in net.named_parameters()}
    x1, x2 = t.randn(4, 3), t.randn(3, 3)

    def fnet(params, x):
        return func.functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)

    def contracted(x1, x2):
        one = func.vmap(func.jacrev(fnet), (None, 0))(params, x1)
        two = func.vmap(func.jacrev(fnet), (None, 0))(params, x2)
        pairs = zip(one.values(), two.values(), strict=True)
        return sum(t.einsum("Naf,Mbf->NMab", a.flatten(2), b.flatten(2)) for a, b in pairs)

    def by_products(x1, x2):
        def one_pair(x1, x2):
            def first(params):
                return fnet(params, x1)

            output, vjp_fn = func.vjp(lambda p: fnet(p, x2), params)
            eye = t.eye(2)

            def row(v):
                return func.jvp(first, (params,), vjp_fn(v))[1]

            return func.vmap(row)(eye)

        return func.vmap(func.vmap(one_pair, (None, 0)), (0, None))(x1, x2)

    kernel, other = contracted(x1, x2), by_products(x1, x2)
    assert t.allclose(kernel, other.transpose(-1, -2))
    return {"kernel": kernel}


def heat_equation(t):
    """A network that satisfies a differential equation: derivatives of its output are learned."""
    net = t.nn.Sequential(t.nn.Linear(2, 10), t.nn.Tanh(), t.nn.Linear(10, 1))
    optimizer = t.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        inside = t.rand(20, 2).requires_grad_()
        u = net(inside)
        (du,) = t.autograd.grad(u.sum(), inside, create_graph=True)
        (dxx,) = t.autograd.grad(du[:, 0].sum(), inside, create_graph=True)
        residual = du[:, 1] - 0.1 * dxx[:, 0]
        x = t.linspace(0, 1, 10)[:, None]
        start = net(t.cat([x, t.zeros_like(x)], 1)) - t.sin(t.pi * x)
        loss = residual.square().mean() + start.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"loss": losses}


def penalty(t):
    """A critic whose gradient is held near 1 (WGAN-GP): a gradient of a norm of a gradient."""
    nn = t.nn
    critic = nn.Sequential(
        nn.Conv1d(1, 4, 3, padding=1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(32, 1)
    )
    optimizer = t.optim.Adam(critic.parameters(), lr=0.02, betas=(0.0, 0.9))
    losses = []
    for _ in range(40):
        real, fake = t.randn(6, 1, 8) + 1, t.randn(6, 1, 8)
        share = t.rand(6, 1, 1)
        mixed = (share * real + (1 - share) * fake).requires_grad_(True)
        found = critic(mixed)
        grads = t.autograd.grad(
            outputs=found,
            inputs=mixed,
            grad_outputs=t.ones_like(found),
            create_graph=True,
            retain_graph=True,
        )[0]
        norms = grads.view(6, -1).norm(2, dim=1)
        loss = critic(fake).mean() - critic(real).mean() + 10 * ((norms - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(10 + loss.item())
    return {"loss": losses}


def one_step_learning(t):
    """MAML on sines: the loss after a step, differentiated through the step."""
    func = t.func
    net = t.nn.Sequential(t.nn.Linear(1, 12), t.nn.ReLU(), t.nn.Linear(12, 1))
    params = dict(net.named_parameters())
    optimizer = t.optim.Adam(net.parameters(), lr=0.01)
    mse = t.nn.functional.mse_loss
    losses = []
    for _ in range(20):
        amplitude, phase = t.rand(3) * 4 + 1, t.rand(3) * t.pi
        x1, x2 = t.rand(3, 10, 1) * 10 - 5, t.rand(3, 10, 1) * 10 - 5
        y1, y2 = (amplitude[:, None, None] * t.sin(x + phase[:, None, None]) for x in (x1, x2))

        def after_step(x1, y1, x2, y2):
            def inner(p):
                return mse(func.functional_call(net, p, (x1,)), y1)

            grads = func.grad(inner)(params)
            moved = {k: params[k] - 0.01 * grads[k] for k in grads}
            return mse(func.functional_call(net, moved, (x2,)), y2)

        loss = func.vmap(after_step)(x1, y1, x2, y2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"all": losses}


def fused_convolution(t):
    """A convolution and its batch norm as one function that saves little, against both layers."""
    f = t.nn.functional

    class ConvBN(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            y = f.conv2d(x, w)
            return (y - y.mean((0, 2, 3), keepdim=True)) / (
                y.var((0, 2, 3), unbiased=False, keepdim=True) + 1e-5
            ).sqrt()

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            with t.enable_grad():
                x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
                y = f.batch_norm(f.conv2d(x, w), None, None, training=True)
            return t.autograd.grad(y, (x, w), g)

    x = t.randn(3, 2, 6, 6, requires_grad=True)
    w = t.randn(4, 2, 3, 3, requires_grad=True)
    y = ConvBN.apply(x, w)
    direct = f.batch_norm(f.conv2d(x, w), None, None, training=True)
    g = t.randn_like(y)
    one = t.autograd.grad(y, (x, w), g)
    two = t.autograd.grad(direct, (x, w), g)
    assert all(t.allclose(a, b) for a, b in zip(one, two, strict=True))
    return {"y": y, "grads": one}


def saved_elsewhere(t):
    """What is saved for the backward pass is packed by hooks, and checkpoints compute it again."""
    packed = []

    def pack(x):
        packed.append(list(x.shape))
        return x.numpy().copy() if not x.requires_grad else x.detach().numpy().copy()

    def unpack(x):
        return t.from_numpy(x)

    x = t.randn(5, requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * x.sin()
    y.sum().backward()
    first, x.grad = x.grad, None
    layer = t.nn.Sequential(t.nn.Linear(5, 5), t.nn.Tanh(), t.nn.Linear(5, 5))
    t.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    return {"packed": packed, "first": first, "second": x.grad, "w": layer[0].weight.grad}


PROGRAMS = [
    tensors_and_numpy,
    autograd_tour,
    hooks,
    numpy_function,
    forward_mode,
    jacobians,
    per_sample,
    ensemble,
    tangent_kernel,
    one_step_learning,
    fused_convolution,
    saved_elsewhere,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_of_derivatives_finds_the_same(program):
    assert agree(program)


@pytest.mark.parametrize("program", [heat_equation, penalty], ids=lambda f: f.__name__)
def test_gradients_of_gradients_are_learned_from(program):
    learned(agree(program)["loss"], 0.95)
