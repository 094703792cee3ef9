"""A member is forgotten: its rows, its influence, for ever."""
