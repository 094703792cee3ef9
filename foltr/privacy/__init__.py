"""What may leave a device: mechanisms that add noise, and the exact account of what they spend."""
