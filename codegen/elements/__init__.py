"""Code for one element, or a vector of them: conversions, integers, complex numbers, divisions."""
