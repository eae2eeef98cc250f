"""What NumPy's names mean on tensors: every operation becomes one ir.tensor.Generic (mean: two)."""
