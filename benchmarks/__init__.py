"""Measurements of speed and quality; they print ratios and are never part of the tests."""
