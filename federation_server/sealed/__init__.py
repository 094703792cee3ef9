"""Rounds whose sum alone the server learns."""
