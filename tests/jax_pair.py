"""The same program text with JAX's modules and with ours: values and derivatives, in nests."""

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp


def ours():
    return {"jax": fg, "lax": fg.lax, "jnp": fnp, "np": np, "at": fg.at}


def theirs():
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    at = lambda x: jnp.asarray(x).at
    return {"jax": jax, "lax": jax.lax, "jnp": jnp, "np": np, "at": at}


def function(source, names, shared=""):
    names = dict(names)
    exec(shared, names)
    return eval(source, names)


def weighed(module, f):
    """A scalar of what `f` returns: every leaf that has a derivative, weighed."""

    def g(x):
        total = 0.0
        for k, leaf in enumerate(leaves(module, f(x))):
            if np.issubdtype(leaf.dtype, np.inexact):
                weights = np.cos(np.arange(int(np.prod(leaf.shape)), dtype=float)) + 0.1 * k
                total = total + (leaf * weights.reshape(leaf.shape)).sum()
        return total.real if np.issubdtype(total.dtype, np.complexfloating) else total

    return g


def leaves(module, out):
    found = fg.tree.leaves(out) if module is fg else module.tree.leaves(out)
    return list(found)


def everything(module, f, x, smooth=True):
    """The value of `f`, mapped, and its derivatives in both modes, mapped, and of second order."""
    t = np.sin(1.0 + np.arange(x.size)).reshape(x.shape)
    xs = module.numpy.stack([x, 0.9 * x + 0.01])
    found = {"value": f(x), "vmap": module.vmap(f)(xs)}
    if smooth:
        g = weighed(module, f)
        grad = module.grad(g)
        found["grad"] = grad(x)
        found["vmap-grad"] = module.vmap(grad)(xs)
        found["jvp"] = module.jvp(g, (x,), (t,))
        found["hvp"] = module.jvp(grad, (x,), (t,))[1]
    return found


def check(name, program, shared=""):
    """Compare a program, compiled and not, with JAX."""
    import jax

    source, x, *smooth = program
    smooth = all(smooth)
    f = function(source, theirs(), shared)
    made = jax.jit(lambda v: everything(jax, f, v, smooth))(x)
    expected = {key: jax.tree.leaves(found) for key, found in made.items()}
    single = any(np.asarray(v).dtype == np.float32 for v in expected["value"])
    tolerance = 1e-6 if single else 1e-9
    mine = function(source, ours(), shared)
    compare(everything(fg, mine, x, smooth), expected, tolerance, name)
    staged = fg.jit(lambda v: everything(fg, mine, v, smooth))
    compare(staged(x), expected, tolerance, f"{name} under jit")


def compare(found, expected, tolerance, name):
    for key, want in expected.items():
        ours_, wanted = fg.tree.leaves(found[key]), list(want)
        assert len(ours_) == len(wanted), (name, key)
        for one, other in zip(ours_, wanted, strict=True):
            one, other = np.asarray(one), np.asarray(other)
            assert one.shape == other.shape, (name, key, one.shape, other.shape)
            scale = max(1.0, float(np.max(np.abs(np.nan_to_num(other)), initial=0.0)))
            np.testing.assert_allclose(
                one, other, rtol=tolerance, atol=tolerance * scale, err_msg=f"{name} {key}"
            )
