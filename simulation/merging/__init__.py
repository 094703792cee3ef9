"""Two owners' rankers made one: how queries are parted, and how the two rankers are merged."""
