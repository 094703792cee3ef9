"""A small page for the administrator: rounds, participation, the ranker's drift, the guard, privacy, requests."""
