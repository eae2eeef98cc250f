"""From the e-graph of a program to the cheapest program in it."""
