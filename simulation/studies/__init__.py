"""Measurements of what stands beside learning: attacks, privacy spent, reconstruction of clicks, unlearning."""
