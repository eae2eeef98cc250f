"""Movements of arrays as strided views, composed and merged, and pictures of them."""
