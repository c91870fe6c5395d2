"""Proofs: certificates of how far a network is from its target, and the checker that verifies them."""
