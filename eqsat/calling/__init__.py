"""How programs are called: `jit`, lazy tensors, `fori`, and NumPy's functions on any of them."""
