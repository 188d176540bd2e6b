"""``numpy.polynomial.legendre`` for plain and traced values; see `funcgrad.numpy.borrowed`."""

from funcgrad.numpy.borrowed import borrow

borrow(globals(), "numpy.polynomial.legendre")
