"""Code for loops whose iterations run together, in vectors and registers."""
