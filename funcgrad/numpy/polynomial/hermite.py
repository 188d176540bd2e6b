"""``numpy.polynomial.hermite`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow, hand_over

borrow(globals(), "numpy.polynomial.hermite")
hand_over(globals(), "numpy.polynomial.hermite")
