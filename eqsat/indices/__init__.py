"""Index expressions by themselves: read from text, simplified, compared, under facts that are declared."""
