"""Measurements of real engines: what a file says, what it means, and how far a prediction is off.

A row falls into two halves when it is read: what was configured, and what was measured. Predictions
are made from the first half alone; they cannot see the other.
"""
