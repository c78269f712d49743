"""What the command line and library users call: each function answers one question with a Report."""
