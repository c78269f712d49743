"""The bench: what this machine really does, measured on torch.

A tower of its own beside the twin, whose decode step it times. It knows cards and measurements,
and nothing of operations, engines or the catalog.
"""
