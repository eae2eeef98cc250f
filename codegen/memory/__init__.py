"""Where results lie, and how memory is read ahead and written past the caches."""
