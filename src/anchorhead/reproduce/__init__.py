"""The paper's statements, measured: ``python -m anchorhead.reproduce`` prints the tables."""
