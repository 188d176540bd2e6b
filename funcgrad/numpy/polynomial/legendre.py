"""``numpy.polynomial.legendre`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow, hand_over

borrow(globals(), "numpy.polynomial.legendre")
hand_over(globals(), "numpy.polynomial.legendre")
