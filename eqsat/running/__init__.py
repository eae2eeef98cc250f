"""Plans: what runs a compiled program, again and again, with other data and other sizes."""
