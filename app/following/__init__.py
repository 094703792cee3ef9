"""Bringing the index up to date, once or as files change, with what is made beside it: vectors, recognised text."""
