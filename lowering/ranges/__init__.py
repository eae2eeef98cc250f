"""Loops over ranges: how they are split, merged, ordered, and cut at seams and at odd ends."""
