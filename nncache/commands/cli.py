"""The entry point of the command line: run the command, and print the errors of a start."""

import io
import os
import sys
from typing import NoReturn

from nncache.commands.group import nncache
from nncache.errors import StartError
from nncache.logs import one_line


def main() -> NoReturn:
    """Run the command line. Each fault of a start is one line on standard error."""
    _open_what_is_closed()
    _escape_what_has_no_code(sys.stdout)
    _escape_what_has_no_code(sys.stderr)
    try:
        nncache(prog_name="nncache")
    except StartError as error:
        for line in error.lines:
            sys.stderr.write(f"nncache: {one_line(line)}\n")
        sys.exit(error.exit_code)
    sys.exit(0)


def _open_what_is_closed() -> None:
    """Open /dev/null as each standard stream that is closed: a connection would get its number, and what is written."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w"))


def _escape_what_has_no_code(stream: object) -> None:
    r"""Escape characters that the stream's encoding lacks, as \U0001f600: a file name can have any character."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
