"""``numpy.polynomial.hermite_e`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow, hand_over

borrow(globals(), "numpy.polynomial.hermite_e")
hand_over(globals(), "numpy.polynomial.hermite_e")
