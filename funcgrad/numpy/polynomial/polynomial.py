"""``numpy.polynomial.polynomial`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow, hand_over

borrow(globals(), "numpy.polynomial.polynomial")
hand_over(globals(), "numpy.polynomial.polynomial")
