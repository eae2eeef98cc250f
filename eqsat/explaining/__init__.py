"""Why a program or an index term became what it is, what else would do, and what is missing."""
