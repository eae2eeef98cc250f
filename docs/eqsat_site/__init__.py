"""What the site needs beside Sphinx: docstrings as they are written here, links of the repository, formulas without scripts."""
