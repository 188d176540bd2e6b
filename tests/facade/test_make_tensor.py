"""`torch.testing.make_tensor` and `assert_allclose`: PyTorch's numbers, layouts and refusals."""

from .expressions import expressions, same_answer

DRAWN = """
t.testing.make_tensor(2, 3, dtype=t.float32, device='cpu')
t.testing.make_tensor((2, 3), dtype=t.float64, device='cpu', low=0, high=1, requires_grad=True)
t.testing.make_tensor((3,), dtype=t.float32, device='cpu', low=-4e38, high=4e38)
t.testing.make_tensor([5], dtype=t.int64, device='cpu')
t.testing.make_tensor(5, dtype=t.int32, device='cpu', low=0.5, high=2.5, exclude_zero=True)
t.testing.make_tensor(5, dtype=t.uint8, device='cpu', high=300)
t.testing.make_tensor(9, dtype=t.int64, device='cpu', low=0, high=2, exclude_zero=True)
t.testing.make_tensor(5, dtype=t.bool, device='cpu')
t.testing.make_tensor(5, dtype=t.complex64, device='cpu')
t.testing.make_tensor(5, dtype=t.float16, device='cpu', low=1, high=2).shape
t.testing.make_tensor((), dtype=t.float32, device='cpu')
t.testing.make_tensor(0, 3, dtype=t.float32, device='cpu', noncontiguous=True)
t.testing.make_tensor(2, 3, dtype=t.float32, device='cpu', noncontiguous=True)
t.testing.make_tensor(1, 2, 2, 2, dtype=t.float32, device='cpu', memory_format=t.channels_last)
t.testing.make_tensor(2, dtype=t.float32, device='cpu', low=1, high=1)
"""
REFUSED = """
t.testing.make_tensor(2, dtype=t.int64, device='cpu', low=1, high=1)
t.testing.make_tensor(2, dtype=t.float32, device='cpu', low=2, high=1)
t.testing.make_tensor(2, dtype=t.float32, device='cpu', low=float('nan'))
t.testing.make_tensor(2, dtype=t.int8, device='cpu', low=200, high=300)
t.testing.make_tensor(2, dtype=t.int8, device='cpu', requires_grad=True)
t.testing.make_tensor(2, dtype=t.float32, device='cpu', noncontiguous=True, memory_format=t.channels_last)
"""  # noqa: E501
COMPARED = """
t.testing.assert_allclose(t.ones(2), [1.0, 1.00001])
t.testing.assert_allclose([1.0, float('nan')], t.tensor([1.0, float('nan')], dtype=t.float64))
t.testing.assert_allclose(t.ones(2), t.zeros(2), msg='other')
t.testing.assert_allclose(t.ones(2), t.zeros(2))
t.testing.assert_allclose(t.ones(2), t.zeros(2), rtol=1e-3)
t.testing.assert_allclose(1, 2, rtol=0, atol=3)
"""


@expressions(DRAWN, REFUSED, COMPARED)
def test_expression(code):
    same_answer(code)
