"""The entry of the command line: run the command, print an error of the start as one line. (nncache/cli.py)"""

import sys
from typing import NoReturn

from nncache.commands.group import nncache
from nncache.errors import StartError


def main() -> NoReturn:
    """Run the command line; an error of the start is one line on standard error."""
    try:
        nncache(prog_name="nncache")
    except StartError as error:
        line = str(error).replace("\n", "\\n")
        sys.stderr.write(f"nncache: {line}\n")
        sys.exit(error.exit_code)
    sys.exit(0)


if __name__ == "__main__":
    main()
