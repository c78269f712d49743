"""Preference training: several models on the same GPUs, each at work at its own time."""
