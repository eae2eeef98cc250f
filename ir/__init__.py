"""What a program is: index expressions, tensor programs and loop nests as data, with text, checker and interpreter."""

from eqsat.ir import loops_text as loops_text, text as text
