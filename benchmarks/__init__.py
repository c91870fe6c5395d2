"""Comparisons that take too long for the tests: ``make bench`` writes them to docs/benchmarks.md."""
