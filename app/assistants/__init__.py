"""Assistants that search for a person: what each was granted, what it asked and was given, what it taught."""
