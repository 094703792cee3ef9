"""Compiled rounds: many clients at once, equal to the four verbs on the same random streams."""
