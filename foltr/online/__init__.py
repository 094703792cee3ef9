"""One device learns from its own interactions."""
