"""The command line: the demonstration, and the commands of `eqsat/command_line/`.

Exit status: 0 done; 1 a result that is not NumPy's; 2 bad input, told in one line on stderr, nothing written; 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from eqsat import demo
from eqsat.command_line import bench, cache, calibrate, cost, explain, optimize
from eqsat.command_line.answer import Answer
from eqsat.command_line.printing import write
from eqsat.command_line.settings import add_json
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.progress import work

COMMANDS: dict[str, tuple[ModuleType, str]] = {
    "explain": (explain, "what an index expression or a function becomes, by which rules, and what that buys"),
    "cost": (cost, "what an index expression or a function is estimated to cost, as written and optimized"),
    "bench": (bench, "check a function against NumPy, and time both in turns"),
    "optimize": (optimize, "optimize a function on arrays of files, check it against NumPy, time it and write the result"),
    "calibrate": (calibrate, "measure the parameters of the cost model on this machine, and store them for later processes"),
    "cache": (cache, "show or clear what is kept on disk"),
}
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """A parser that reports a bad command line in one line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line (sys.argv by default) and returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command is None:
            return demo.run()
        answer = _answer(COMMANDS[arguments.command][0], arguments)
    except (UsageError, UnsupportedError, OSError, MemoryError) as error:
        return _refused(error)
    except KeyboardInterrupt:
        print("eqsat: interrupted", file=sys.stderr)
        return INTERRUPTED
    return _printed(answer, arguments.json)


def _refused(error: BaseException) -> int:
    print("eqsat:", " ".join(str(error).split()) or "out of memory", file=sys.stderr)
    return 2


def _printed(answer: Answer, as_json: bool) -> int:
    """Prints an answer; it is no error if nobody reads on, as with `| head`."""
    try:
        write(answer, as_json)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it flushes at the end
        return answer.status if isinstance(error, BrokenPipeError) else _refused(error)
    return answer.status


def _answer(module: ModuleType, arguments: argparse.Namespace) -> Answer:
    """What a command has to say; for scripts nothing else is on standard output, not even what a user's function prints."""
    with work(arguments.command), contextlib.ExitStack() as stack:
        if arguments.json:
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        answer: Answer = module.run(arguments)
        return answer


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m eqsat", description="Without a command: the demonstration on photographs and digits.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text, epilog=module.EXAMPLE)
        module.add_parser(command)
        add_json(command)
    return parser
