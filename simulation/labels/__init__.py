"""Rankers that learn from relevance labels, which no online method sees."""
