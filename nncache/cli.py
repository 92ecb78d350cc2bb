"""The entry of the command line: see that the rooms are ours, run the command, tell errors. (nncache/cli.py)"""

import sys
from typing import NoReturn

from nncache.errors import StartError
from nncache.rooms import check_rooms


def main() -> NoReturn:
    """Run the command line; an error of the start is one line on standard error."""
    try:
        check_rooms()
        from nncache.commands import nncache  # noqa: PLC0415 - imports the rooms, which must be ours

        nncache(prog_name="nncache")
    except StartError as error:
        line = str(error).replace("\n", "\\n")
        sys.stderr.write(f"nncache: {line}\n")
        sys.exit(error.exit_code)
    sys.exit(0)


if __name__ == "__main__":
    main()
