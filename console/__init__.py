"""What a terminal's person reads and sets, alike in both programs."""
