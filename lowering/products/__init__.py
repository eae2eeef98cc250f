"""Sums of products: what is one, which factors and parts are computed before, and the tiles in which it is computed."""
