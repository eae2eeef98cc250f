"""Calls of machine code: from Python, without Python, and on threads."""
