"""The twin: a card read a second time, as a real torch model, to check the blueprint against.

Built from the spec alone. It knows nothing of operations and engines, and they know nothing of it,
so that a mistake must be made twice to pass.
"""
