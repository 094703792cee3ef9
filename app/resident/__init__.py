"""The resident process: one for each data folder, which answers commands over a socket of its user's own."""
