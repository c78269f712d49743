"""What one training step holds on each GPU, phase by phase; one file, one question."""
