"""A search to the end: every document that may matter, judged one after another."""
