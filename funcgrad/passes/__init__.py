"""The passes of the compiler, one idea a file: each takes a graph and returns an equal one.

They import errors, config, tree, core, ops and graph. A pass never changes a value: not a NaN, an
infinity or the sign of a zero, and it never merges equations of different checkpoint scopes.
"""
