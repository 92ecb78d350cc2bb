"""A proxy whose decider breaks a rule, as a program: `python -m tests.journal_faults.broken NAME proxy ...`."""

import sys

from nncache.commands.cli import main
from nncache.invalidation.journal import source
from tests.invalidation.journal.broken_quorums import BROKEN


def install(name: str) -> None:
    """Break the rule in this process."""
    source.JournalQuorum = BROKEN[name]  # type: ignore[attr-defined]  # it is broken on purpose


if __name__ == "__main__":
    install(sys.argv[1])
    sys.argv = ["nncache", *sys.argv[2:]]
    main()
