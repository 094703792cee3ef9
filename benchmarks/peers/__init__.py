"""Other programs on the same work as ours, in the same minutes: `python -m benchmarks peers`."""
