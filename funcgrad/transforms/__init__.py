"""The transforms: reverse and forward mode, batching, staging, and what is built from them."""
