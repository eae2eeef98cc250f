"""Sizes that are known at run time: what stands for them, what is computed with them, and what is declared of them."""
