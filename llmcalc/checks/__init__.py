"""Every number held against another witness: the twin, published counts, the transformers class."""
