"""The core: types, primitives, traced values and the forms in which a derivative is stated."""
