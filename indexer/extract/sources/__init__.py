"""Data of other programs, read once its user names it."""
