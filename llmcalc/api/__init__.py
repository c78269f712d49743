"""What the command line and library users call: a function a question, a Report the answer."""
