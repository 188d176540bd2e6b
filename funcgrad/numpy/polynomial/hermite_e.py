"""``numpy.polynomial.hermite_e`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow

borrow(globals(), "numpy.polynomial.hermite_e")
