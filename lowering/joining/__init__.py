"""Several kernels in one: in strips, row by row, side by side; and results written over what is read."""
