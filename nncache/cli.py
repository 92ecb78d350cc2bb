"""The entry of the command line: run the command, print what is wrong with a start. (nncache/cli.py)"""

import sys
from typing import NoReturn

from nncache.commands.group import nncache
from nncache.errors import StartError
from nncache.logs import one_line


def main() -> NoReturn:
    """Run the command line; each fault of a start is one line on standard error."""
    try:
        nncache(prog_name="nncache")
    except StartError as error:
        for line in error.lines:
            sys.stderr.write(f"nncache: {one_line(line)}\n")
        sys.exit(error.exit_code)
    sys.exit(0)


if __name__ == "__main__":
    main()
