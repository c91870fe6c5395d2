"""Targets to networks: what a function is like, which construction suits it, and how small."""
