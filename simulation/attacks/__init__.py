"""What malicious clients of a federation do: to the clicks they learn from, or to the update they send."""
