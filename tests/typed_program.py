"""A program that type checkers look at (`tests/test_types.py`); the comments say what they see."""

import funcgrad as fg
import funcgrad.numpy as fnp


def loss(x: float, scale: float = 2.0, *, shift: float = 0.0) -> float:
    return scale * x**2 + shift


class Model:
    weight: float = 2.0

    @fg.jit
    def apply(self, x: float) -> float:
        return self.weight * x

    @fg.jit(static_argnums=2)
    def power(self, x: float, n: int) -> float:
        return x**n


value: float = fg.jit(loss)(1.0, 2.0, shift=3.0)
both: tuple[float, object] = fg.value_and_grad(loss)(1.0)
again: float = fg.checkpoint(loss)(1.0)
applied: float = Model().apply(2.0)
raised: float = Model().power(2.0, 3)
lines: str = fg.jit(loss).show(1.0)
pair: tuple[float, float] = fg.jvp(loss, (1.0,), (1.0,))
with_aux = fg.jvp(lambda x: (x, x), (1.0,), (1.0,), has_aux=True)
result, pull = fg.vjp(loss, 1.0)
cotangents: tuple[object, ...] = pull(result)
there, push = fg.linearize(loss, 1.0)
moved: float = push(there)


@fg.custom_vjp
def clipped(x: float, most: float = 1.0) -> float:
    return min(x, most)


clipped.defvjp(lambda x, most: (x, None), lambda _, g: (g, None))
kept: float = clipped(2.0, most=0.5)
mapped = fg.vmap(fg.grad(loss), in_axes=(0, None))(1.0, 2.0)
shown = fg.nn.relu(fg.random.normal(fg.random.key(0)))

drawn = fnp.sin(fnp.random.default_rng(0).normal()) + fnp.loadtxt("data.txt")

fg.grad(loss)("text")  # wrong: arg-type
fg.grad(loss)(1.0, shft=2.0)  # wrong: call-arg
fg.jit(loss)()  # wrong: call-arg
fg.hessian(loss)(1.0, 2.0, 3.0)  # wrong: call-arg
clipped("text")  # wrong: arg-type
clipped(1.0, least=2.0)  # wrong: call-arg
fg.jvp(loss, (1.0,), (1.0,))[0].upper()  # wrong: attr-defined
fg.jit(loss)(1.0).upper()  # wrong: attr-defined
Model().apply("text")  # wrong: arg-type
Model().apply(1.0, 2.0)  # wrong: call-arg
fg.gard(loss)  # wrong: attr-defined
fg.nn.rleu(1.0)  # wrong: attr-defined
fg.random.norml(fg.random.key(0))  # wrong: attr-defined
fg.optim.adm(0.1)  # wrong: attr-defined
fg.tree.mpa(abs, {})  # wrong: attr-defined
fg.lax.dynamic_slise  # wrong: attr-defined
fg.scipy.special.gamaln(1.0)  # wrong: attr-defined
fg.scipy.stats.nrm.pdf(1.0)  # wrong: attr-defined
fg.torch.tensr(1.0)  # wrong: attr-defined
fg.torch.nn.Linea(2, 3)  # wrong: attr-defined
fnp.sinn(1.0)  # wrong: attr-defined
fnp.linalg.invv(1.0)  # wrong: attr-defined
fg.config.treads = 3  # wrong: attr-defined
fg.debug.nan()  # wrong: attr-defined
fg.errors.TreeErorr  # wrong: attr-defined

x = fg.torch.ones(2, 3)
x.sum(dim=0, keepdim=True).exp().reshape(1, -1).backward()
(x.T.mean() + 1.0).item()
x.view(3, 2).to(fg.torch.float64).clamp_(min=0.0).std(0)
fg.torch.randn(3).softmax(-1).split(2)[0].norm()
x.summ()  # wrong: attr-defined
x.sum().exq()  # wrong: attr-defined
(x > 0).floaat()  # wrong: attr-defined
x.exp(1)  # wrong: call-arg
x.requires_gard = True  # wrong: attr-defined
