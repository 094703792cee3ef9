"""Which files there are, which of them changed, and why one is or is not in the index."""
