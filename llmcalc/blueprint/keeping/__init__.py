"""What a training step keeps of each forward pass, as autograd saves it."""
