"""``numpy.polynomial.laguerre`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow, hand_over

borrow(globals(), "numpy.polynomial.laguerre")
hand_over(globals(), "numpy.polynomial.laguerre")
