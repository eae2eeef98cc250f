"""Forking while threads have e-graphs: parent and child go on, each with its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tests.effort import examples

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

COMMON = """
import os, sys, threading, warnings
import eqsat

warnings.simplefilter("ignore", DeprecationWarning)
options = eqsat.Options(cache=False)

def terms(first):
    for n in range(first, first + int(sys.argv[1])):
        term = eqsat.parse_index(f"(i * {n} + j) // {n} + (i * {n} + j) % {n}", {"i": (0, 50), "j": (0, n - 1)})
        assert str(eqsat.simplify(term, options=options)) in ("i + j", "j + i"), term

terms(2)
"""
# what threads of the parent had goes away in the child as it begins
THREADS = """
asked, answered = threading.Barrier(3), threading.Barrier(3)

def work():
    terms(30)
    asked.wait()
    answered.wait()
    terms(60)

threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
asked.wait()
child = os.fork()
if child == 0:
    terms(90)
    sys.exit(0)
_, status = os.waitpid(child, 0)
answered.wait()
[thread.join() for thread in threads]
terms(120)
sys.exit(status)
"""
# both write rows for their e-graphs at the same time
TOGETHER = """
child = os.fork()
for first in range(2, 200, 25):
    terms(first)
if child == 0:
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


# processes of multiprocessing, and one that is killed, leave no files behind
PROCESSES = """
import multiprocessing, os, signal, tempfile, time

def files():
    return {os.path.join(root, name) for root in ("/dev/shm", tempfile.gettempdir()) if os.path.isdir(root) for name in os.listdir(root)
            if "eqsat" in name}

def forever(k):
    terms(k)
    started.set()
    time.sleep(600)

before = files()
context = multiprocessing.get_context("fork")
workers = [context.Process(target=terms, args=(30 * k,)) for k in (1, 2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
assert all(worker.exitcode == 0 for worker in workers)
started = context.Event()
killed = context.Process(target=forever, args=(90,))
killed.start()
assert started.wait(60)
os.kill(killed.pid, signal.SIGKILL)
killed.join()
assert not files() - before
"""


# who closes all that is open, as processes do that go into the background, finds what it opens then as it wrote it
CLOSED = """
import os, tempfile
terms(3)
os.closerange(3, 256)
files = [tempfile.TemporaryFile(buffering=0) for _ in range(20)]
for file in files:
    file.write(b"something")
for first in range(40, 200, 25):
    terms(first)
for file in files:
    file.seek(0)
    assert file.read() == b"something"
"""


@pytest.mark.parametrize("program", [THREADS, TOGETHER, PROCESSES, CLOSED], ids=["threads", "together", "processes", "closed"])
def test_parent_and_child_have_e_graphs_of_their_own(program: str) -> None:
    text = textwrap.dedent(COMMON) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text, str(examples(25))], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
