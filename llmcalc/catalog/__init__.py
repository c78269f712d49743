"""From files to spec: find, read, validate, import."""
