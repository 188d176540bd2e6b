"""The operations of ``torch``, by family; `__all__` of each file is its part of the namespace."""
