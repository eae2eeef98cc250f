"""What rows, folds and loops have in common, computed once."""
