"""Personal files become candidates and features. Documents only: no learning."""
