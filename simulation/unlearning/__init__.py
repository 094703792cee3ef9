"""How a federation forgets some of its clients: what the past leaves behind, and the ways to go on without them."""
