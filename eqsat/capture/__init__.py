"""From what a caller hands in to a Program: traces, the arrays in them, sizes that are known at run time."""
