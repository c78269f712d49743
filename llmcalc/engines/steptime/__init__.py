"""How long does a training step take, a run, and what does it cost?"""
