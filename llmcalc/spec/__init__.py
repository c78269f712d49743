"""What a file may say: frozen dataclasses without formulas and without input or output."""
