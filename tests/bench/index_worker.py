"""Our simplifier in a process of its own, so that a term that takes all memory or time is a failure and not the end.

Terms travel as text with ranges, since nodes are unique within a process.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection

import eqsat
from eqsat.ir.index import Index, variables

Question = tuple[str, dict[str, tuple[int, int]]]


class Worker:
    """Answers lists of terms; the process begins with the first question, and anew after one that ended it.

    seconds  how long one call may take
    memory   bytes that the process may allocate
    """

    def __init__(self, seconds: float = 60.0, memory: int = 3 << 30) -> None:
        self.seconds, self.memory = seconds, memory
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def simplify(self, terms: Sequence[Index]) -> tuple[list[Index] | str, float]:
        """The simplified terms, or one line that says why there are none; and the seconds that simplifying took."""
        pipe = self._started()
        ranges: list[dict[str, tuple[int, int]]] = [{v.name: v.bounds for v in variables(term)} for term in terms]
        try:
            pipe.send([(str(term), known) for term, known in zip(terms, ranges, strict=True)])
            if not pipe.poll(self.seconds):
                raise TimeoutError(f"no answer in {self.seconds:g} s")
            answer, seconds = pipe.recv()
        except TimeoutError as error:
            self.close()
            return str(error), 0.0
        except (EOFError, ConnectionError):
            self.close()
            return "the process ended: out of memory", 0.0
        if isinstance(answer, str):
            return answer, seconds
        return [eqsat.parse_index(text, known) for text, known in zip(answer, ranges, strict=True)], seconds

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self.memory), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe


def _serve(pipe: Connection, memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    x = eqsat.var("x", 0, 31)
    eqsat.simplify(x // 8 * 8 + x % 8)
    while True:
        try:
            questions: list[Question] = pipe.recv()
        except EOFError:
            return
        terms = [eqsat.parse_index(text, known) for text, known in questions]
        start = time.perf_counter()
        try:
            answer: list[str] | str = [str(term) for term in eqsat.simplify_many(terms)]
        except Exception as error:  # a crash is a failure of these terms, not the end of the run
            at = traceback.extract_tb(error.__traceback__)[-1]
            answer = f"{type(error).__name__}: {error} ({at.filename.rpartition('/')[2]}:{at.lineno})"
        pipe.send((answer, time.perf_counter() - start))


def simplified(worker: Worker, terms: Sequence[Index], batch: int) -> tuple[list[Index | str], float]:
    """Our answers, or what went wrong, and seconds; the terms of a batch that fails are asked one by one."""
    answers: list[Index | str] = []
    total = 0.0
    for at in range(0, len(terms), batch):
        part = terms[at : at + batch]
        found, seconds = worker.simplify(part)
        total += seconds
        if not isinstance(found, str):
            answers += found
        elif len(part) == 1:
            answers.append(found)
        else:
            alone, seconds = simplified(worker, part, 1)
            answers, total = answers + alone, total + seconds
    return answers, total
