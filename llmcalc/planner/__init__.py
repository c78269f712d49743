"""Searches over the engines: what fits, and what would make it fit."""
