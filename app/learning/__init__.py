"""What was opened, the ranker that learns from it, and whether that helps."""
