"""Rigorous bounds of exact expressions: the ground that proofs and their checker stand on."""
