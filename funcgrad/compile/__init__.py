"""The compiler of loop nests: backends, their printers, and the cache of what they made.

It imports errors, config, tree, core, ops, graph and passes; neither numba nor llvmlite before the
first compilation.
"""
