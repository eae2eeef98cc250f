"""What a program is: index expressions, tensor programs and loop nests as data, with text, checker and interpreter."""

from eqsat.ir import text as text
