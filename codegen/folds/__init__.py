"""Code for reductions, searches and recurrences."""
