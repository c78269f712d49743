"""The time of a training step, and what a whole run takes and costs."""
