"""From what a caller hands in to a Program: traces and the arrays in them."""
