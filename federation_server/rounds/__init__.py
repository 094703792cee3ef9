"""Rounds: opened, filled, closed, told of."""
