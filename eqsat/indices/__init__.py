"""Index expressions by themselves: read from text, simplified, compared."""
