"""Random programs as lists of statements, and all that can be seen of their tensors after each.

The statements are drawn while PyTorch runs them, so that most of them make sense; those that are
refused stay, for the errors must be the same.
"""

import random
import re
import warnings

import numpy as np

DATA = ("[1.0, -2.0, 3.0]", "[0.5, 0.25, 2.0]", "[[1.0, 2.0, 0.5], [-1.0, 0.3, 4.0]]", "1.5",
        "[[2.0, 1.0], [0.5, -3.0]]")  # fmt: skip
RESULTS = """
a + b;a * b;a - b;a / b;a.sin();a.exp();a.tanh();a.sum();a.sum(0);a.mean();a.max();a.max(0)[0]
a.clone();a.relu();torch.where(a > b, a, b);torch.cat([a, b]);torch.stack([a, b]);a**2;a.abs()
a.cumsum(0);a.prod();a.norm();a * 2.0;a + 1;a.sort()[0];2.0 / a;-a;a.sigmoid();a.softmax(0)
torch.maximum(a, b);a[torch.tensor([0, -1])];a[a > 0];torch.addcmul(a, b, d);a.lerp(b, 0.3)
torch.zeros_like(a);a.flip(0);a.roll(1);a.repeat(2);a.logsumexp(0);a.masked_fill(a > 0, 0.5)
torch.outer(a, b);torch.dot(a, b);a.clamp(-1, 1);a.mv(b);a.tril();a.double();a.contiguous()
"""
VIEWS = """
a[0];a[1:];a[..., 0];a[None];a.view(-1);a.reshape(-1);a.t();a.unsqueeze(0);a.squeeze();a.detach()
a.expand(2, 3);a.diagonal();a.narrow(0, 0, 1);a.unbind(0)[0];a.split(1)[0];a.chunk(2)[0];a.data
a.view_as(a);a.transpose(0, -1);a.flatten();a[::2];a.select(0, 1);a.expand_as(a);a[:, 0];a.view(3)
"""
WRITES = """
a.add_(b);a.mul_(2.0);a.sub_(b);a[0] = b;a[0] = 2.0;a.copy_(b);a.fill_(1.5);a.zero_();a.exp_()
a.relu_();a += b;a *= b;a.clamp_(-1, 1);a.masked_fill_(a > 0, 0.5);a.pow_(2);a.sigmoid_()
a.squeeze_();a.unsqueeze_(0);a.transpose_(0, -1);a.detach_();a.requires_grad_();a.grad = None
a.requires_grad_(False);a.requires_grad = True;a.grad.zero_();a.retain_grad();a[1:] = b[1:]
a[1:].mul_(3.0);a.mul_(a);a.add_(b, alpha=2);a.index_fill_(0, torch.tensor([0]), 7.0);a.div_(b)
a.neg_();a.sin_();a.data.mul_(2);a.detach().add_(1);a.data = b.data;a.lerp_(b, 0.5);a.t_()
a.addcmul_(b, d);a[a > 0] = 0.25;a[a > 0] *= 2;a.view(-1).mul_(2);torch.relu_(a);a.cumsum_(0)
a.index_add_(0, torch.tensor([0]), b[:1])
"""
HOOKS = """
a.register_hook(lambda g: say('H', g));a.register_hook(lambda g: g * 2)
a.register_hook(lambda g: g.clone().zero_())
a.register_post_accumulate_grad_hook(lambda x: say('H', x.grad))
a.grad_fn.register_hook(lambda gi, go: say('H', *gi, *go))
a.grad_fn.register_prehook(lambda go: say('H', *go))
torch.autograd.graph.register_multi_grad_hook([a, b], lambda gs: say('H', *gs))
torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: say('H', g), mode='any')
"""
PASSES = """
a.sum().backward();a.backward();a.sum().backward(retain_graph=True);(a * b).sum().backward()
a.sum().backward(inputs=[b]);a.backward(torch.ones_like(a));a.sum().backward(create_graph=True)
torch.autograd.backward([a.sum(), b.sum()]);a.sum().backward(inputs=[b, d], retain_graph=True)
"""
GRADIENTS = """
torch.autograd.grad(a.sum(), b, retain_graph=True)[0].clone();a.grad.clone()
torch.autograd.grad(a.sum(), [b, d], allow_unused=True)[0].clone()
torch.autograd.grad(a.sum(), b, create_graph=True)[0].clone()
"""


def listed(text):
    return [s for line in text.strip().splitlines() for s in line.split(";")]


KINDS = [
    (0.30, "result", listed(RESULTS)),
    (0.22, "result", listed(VIEWS)),
    (0.25, "write", listed(WRITES)),
    (0.09, "hook", listed(HOOKS)),
    (0.10, "pass", listed(PASSES)),
    (0.04, "result", listed(GRADIENTS)),
]


class Draw:
    """Statements about the names so far."""

    def __init__(self, seed):
        self.random, self.count = random.Random(seed), 0

    def fresh(self):
        self.count += 1
        return f"x{self.count}"

    def statement(self, names):
        """What it makes (a name, or what kind of statement it is) and its text."""
        r = self.random
        if len(names) < 2 or r.random() < 0.06:
            name, more = self.fresh(), r.choice([", requires_grad=True"] * 2 + [""])
            return name, f"{name} = torch.tensor({r.choice(DATA)}, dtype=torch.float64{more})"
        _, kind, texts = r.choices(KINDS, [weight for weight, *_ in KINDS])[0]
        a = r.choice(names[-5:] if r.random() < 0.7 else names)
        chosen = {"a": a, "b": r.choice(names), "d": r.choice(names), "H": f"h{self.count}"}
        text = re.sub(r"\b[abdH]\b", lambda m: chosen[m[0]], r.choice(texts))
        if kind == "write" and r.random() < 0.25:
            text = f"with torch.no_grad(): {text}"
        if kind == "hook":
            name = self.fresh()
            return kind, f"{name} = {text}"
        if kind != "result":
            return kind, text
        name = self.fresh()
        return name, f"{name} = {text}"


def number(x):
    """A tensor as text: its dtype, shape and elements to four digits."""
    if x is None:
        return "None"
    array = np.asarray(x.detach().numpy())
    shown = ",".join(f"{v:.4g}".replace("-0", "0") if v == 0 else f"{v:.4g}" for v in array.flat)
    return f"{str(x.dtype)[6:]}{list(array.shape)}[{shown}]"


def seen(x, env, names, first):
    """All that can be seen of a tensor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            base, node, g = x._base, x.grad_fn, x.grad
            around = () if node is None else [None if n is None else n.name()
                                              for n, _ in node.next_functions]  # fmt: skip
            return " ".join(map(str, (
                number(x), x.requires_grad, x.is_leaf, None if node is None else node.name(),
                *around, x.output_nr, x.retains_grad, x._is_view(), number(g),
                None if g is None else g.requires_grad,
                x._version - first.setdefault(id(x), x._version),
                next((n for n in names if env[n] is base), None),
            )))  # fmt: skip
        except RuntimeError as error:
            return f"{type(error).__name__}: {str(error)[:100]}"


def run(torch, statements=None, seed=0, length=12):
    """Run statements, or draw them; the statements with what was seen after each."""
    log, names, first, done = [], [], {}, []
    env = {"torch": torch, "say": lambda name, *gs: log.append(f"{name} {[*map(number, gs)]}")}
    draw = Draw(seed)
    for k in range(length if statements is None else len(statements)):
        made, text = draw.statement(names) if statements is None else statements[k]
        done.append((made, text))
        log.append(f"> {text}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(text, env)
            except Exception as error:
                log.append(f"{type(error).__name__}: {str(error)[:100]}")
                if made == "pass" or "autograd.grad(" in text:
                    break  # PyTorch has left half of the gradients
            else:
                if isinstance(env.get(made), torch.Tensor):
                    names.append(made)
        log += [str(w.message)[:100] for w in caught if "create_graph" not in str(w.message)]
        log += [f"{n}: {seen(env[n], env, names, first)}" for n in names]
    return done, log
