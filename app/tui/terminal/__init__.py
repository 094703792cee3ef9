"""The terminal that the screen runs in: what it is, what it can do, and its end."""
