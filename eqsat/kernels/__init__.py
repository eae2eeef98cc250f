"""From an extracted program to the loop nests that run it: candidates priced or measured, one picked for each kernel."""
