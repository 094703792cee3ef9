"""One result page: rankers, the Plackett-Luce model, interactions and metrics."""
