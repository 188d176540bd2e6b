"""The operations: each a primitive with its derivative, and the function that applies it."""
