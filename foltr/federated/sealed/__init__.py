"""Sums that nobody reads the parts of: who takes part, who adds up, shares."""
