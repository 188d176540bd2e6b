"""Graphs: staging, the reference interpreter, the verifier and printing."""
