"""The process that answers: addresses, limits, metrics."""
