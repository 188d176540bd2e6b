"""Programs that print, as text for JAX's modules and for ours: a function, and its argument.

JAX's lines are asked to be ordered where it can do that; ours always are.
"""

import numpy as np

SHARED = """
def show(fmt, *args, **kwargs):
    jax.debug.print(fmt, *args, ordered=True, **kwargs)

def twice(x):
    show("twice {}", x)
    return 2.0 * x

def body(carry, row):
    show("at {} {row}", carry, row=row)
    return carry + row, carry * row

@jax.custom_vjp
def seen(x):
    show("value {}", x)
    return 3.0 * x

def seen_forward(x):
    show("forward {}", x)
    return 3.0 * x, None

def seen_backward(_, g):
    show("backward {}", g)
    return (3.0 * g,)

seen.defvjp(seen_forward, seen_backward)

@jax.custom_jvp
def square(x):
    show("square {}", x)
    return x * x

@square.defjvp
def square_rule(primals, tangents):
    show("rule {}", primals[0])
    return square(*primals), 2.0 * primals[0] * tangents[0]
"""

X = 2.0
ROWS = np.array([1.0, 2.0, 4.0])

PROGRAMS = {
    "a line": ("lambda x: twice(x)", X),
    "two lines": ("lambda x: twice(twice(x))", X),
    "no argument": ("lambda x: (show('hello'), x)[1]", X),
    "a constant": ("lambda x: (show('{} {}', 1.5, np.arange(2.0)), x)[1]", X),
    "formats": ("lambda x: (show('{:.3f} {x:>6} {{}}', x, x=x + 0.5), x)[1]", X),
    "a shape": ("lambda x: (show('{x.shape}', x=x), x.sum())[1]", ROWS),
    "an array": ("lambda x: (show('{}', x * 2.0), x.sum())[1]", ROWS),
    "a number nobody reads": ("lambda x: (show('{}', x * x), 1.0 * x)[1]", X),
    "within jit": ("lambda x: jax.jit(twice)(x) + 1.0", X),
    "jit of a constant": ("lambda x: jax.jit(twice)(3.0) + x", X),
    "scan": ("lambda x: jax.lax.scan(body, 0.0, x)[1].sum()", ROWS),
    "scan of a constant": (
        "lambda x: jax.lax.scan(lambda c, v: (show('hi'), (c + v, None))[1], 0.0, x)[0]",
        ROWS,
    ),
    "scan of a captured value": (
        "lambda x: jax.lax.scan(lambda c, _: (show('{}', x), (c + x, None))[1], 0.0, None, 3)[0]",
        X,
    ),
    "scan in scan": (
        "lambda x: jax.lax.scan(lambda c, v: (c + jax.lax.scan(body, v, x)[0], None), 0.0, x)[0]",
        ROWS,
    ),
    "fori_loop": (
        "lambda x: jax.lax.fori_loop(0, 3, lambda i, v: (show('{} {}', i, v), v * 2.0)[1], x)",
        X,
    ),
    "cond": (
        "lambda x: jax.lax.cond(x > 1.0, twice, lambda v: (show('other {}', v), -v)[1], x)",
        X,
    ),
    "the other branch": (
        "lambda x: jax.lax.cond(x > 5.0, twice, lambda v: (show('other {}', v), -v)[1], x)",
        X,
    ),
    "switch": (
        "lambda x: jax.lax.switch(1, [twice, lambda v: (show('one {}', v), v)[1], twice], x)",
        X,
    ),
    "a loop in Python": ("lambda x: sum(twice(x * k) for k in range(3))", X),
    "custom_vjp": ("lambda x: seen(2.0 * x) * 2.0", X),
}

ONLY_FORWARD = {
    "while_loop": (
        "lambda x: jax.lax.while_loop(lambda v: v < 10.0, lambda v: (show('{}', v), v * x)[1], x)",
        X,
    ),
    "custom_jvp": ("lambda x: square(x) + 1.0", X),
}
