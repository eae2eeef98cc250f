"""Elements that change places: transposes, patches, steps, and rows that elements choose."""
