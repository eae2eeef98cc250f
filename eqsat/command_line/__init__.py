"""`python -m eqsat`: a file for each command, and what they have in common.

answer.py     what a command has to say: tables and texts for readers, keys and values for scripts
printing.py   an answer as text, in colour where rich is installed and somebody looks, or as JSON
functions.py  functions by name, and what they are on given arrays
arrays.py     arrays of files, specs, sizes and variables
settings.py   the options of `eqsat.Options` that all commands take
subject.py    a program or an index expression that a command is about, optimized
"""
