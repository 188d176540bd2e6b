"""SciPy's functions with derivatives, under SciPy's names.

SciPy itself is needed (``pip install funcgrad[scipy]``) and imported on first use. Its own ufuncs,
called on traced values, come to the same definitions.
"""
