"""Rounds of simulated clients: who clicks how, on which random streams, and what a round does with it."""
