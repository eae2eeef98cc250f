"""The e-graph: its schema, the process's one egglog engine, encoding of terms, snapshots of its classes."""
