"""The native backend: LLVM IR as text, built by llvmlite, run by a thread pool and entry points of
our own. llvmlite is imported inside functions only, so that `import funcgrad` stays light.
"""
