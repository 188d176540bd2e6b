"""`pad` by repeated elements: which ranks and widths there are, and PyTorch's errors for others."""

import pytest

from .both import same

SHAPES = ((3,), (2, 3), (1, 2, 3), (1, 1, 2, 3), (1, 1, 2, 2, 3), (0, 3), (2, 0, 3), (1, 2, 0))
WIDTHS = (
    (0, 0), (1, 1), (3, 0), (2, -1), (0, 4), (-2, 0), (-3, 0), (-2, -2), (1, 1, 1, 1),
    (2, 2, 2, 2), (0, 0, 0, 2), (1, 1, 1, 1, 1, 1), (0, 0, 0, 0, 2, 0),
)  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_errors(mode, shape):
    def program(m, say):
        x = m.arange(float(m.zeros(shape).numel())).reshape(shape)
        for widths in WIDTHS:
            try:
                say(widths, m.nn.functional.pad(x, widths, mode=mode))
            except (RuntimeError, NotImplementedError) as error:
                say(widths, type(error).__name__, error)

    same(program)
