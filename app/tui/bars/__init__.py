"""Lines and boxes of the screen that always show the same kind of thing."""
