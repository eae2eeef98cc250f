"""Reductions: down columns, along rows, of short rows, of windows, in parts, and in numbers of 32 bits."""
