"""Several object files as one: an archive in the format of `ar`, which binutils and LLVM's tools read.

magic      "!<arch>\n"
a member   60 bytes of head: name, time, owner, group, mode, size; then its bytes, and one more where their number is odd
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MAGIC = b"!<arch>\n"
HEAD = 60
SIZE = slice(48, 58)


def archive(objects: Sequence[bytes]) -> bytes:
    """An archive of these files, or the file where there is one."""
    return objects[0] if len(objects) == 1 else MAGIC + b"".join(_member(f"{k}.o/", data) for k, data in enumerate(objects))


def members(code: bytes) -> Iterator[bytes]:
    """The files of an archive; what is none is the one file."""
    if not code.startswith(MAGIC):
        yield code
        return
    begin = len(MAGIC)
    while begin < len(code):
        size = int(code[begin : begin + HEAD][SIZE])
        yield code[begin + HEAD : begin + HEAD + size]
        begin += HEAD + size + size % 2


def _member(name: str, data: bytes) -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
