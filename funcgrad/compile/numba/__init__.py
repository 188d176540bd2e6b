"""The way through Numba: the vector mathematics as intrinsics.

Nothing here is imported before a kernel is: importing Numba takes longer than most programs.
"""
