"""Judged queries: which data sets there are, where they lie, and how they are read."""
