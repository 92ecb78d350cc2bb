"""Where to go from here: addresses and commands that work on the running system. (demo/guide.py)"""

import sys
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from demo.chapters.waiting import PATH
from demo.counter import BEAN
from demo.stage import OWNER, Stage
from testbed.asker import Asker

_UI: Final = "/dfshealth.html"  # Hadoop 3.5.0's jars come without it
_COUNTERS: Final = f"/jmx?qry={BEAN}"


@dataclass(frozen=True, slots=True)
class Hint:
    """A line to copy, and what it is for."""

    purpose: str
    line: str


def hints(*, proxy: str, admin: str, namenode: str, has_ui: bool, nncache: str) -> tuple[Hint, ...]:
    """Return what to try, given the addresses ("host:port") and how to call nncache's command."""
    target = f"/webhdfs/v1{PATH}"
    return (
        Hint(
            "Read through nncache; ask twice and look at Cache-Status:",
            f"curl -i 'http://{proxy}{target}?op=GETFILESTATUS&user.name=bob'",
        ),
        Hint(
            "Delete it behind nncache's back, then read again:",
            f"curl -X DELETE 'http://{namenode}{target}?op=DELETE&user.name={OWNER}'",
        ),
        Hint("What nncache knows of it, and why:", f"{nncache} explain {PATH} --admin {admin}"),
        Hint("nncache's own pages, for a browser:", f"http://{admin}/"),
        Hint("The NameNode's web UI:", f"http://{namenode}{_UI}")
        if has_ui
        else Hint("The NameNode's counters:", f"http://{namenode}{_COUNTERS}"),
    )


def nncache_command(python: Path, directory: Path) -> str:
    """Return how to call nncache from this directory: it lies beside the Python that runs."""
    command = python.with_name("nncache")
    return str(command.relative_to(directory) if command.is_relative_to(directory) else command)


def guide(stage: Stage) -> tuple[Hint, ...]:
    """Return the hints for the running system."""
    with Asker(stage.namenode_http) as asker:
        has_ui = asker.ask("GET", _UI).status == HTTPStatus.OK
    return hints(
        proxy=stage.proxy.address,
        admin=stage.proxy.admin,
        namenode=stage.namenode_http,
        has_ui=has_ui,
        nncache=nncache_command(Path(sys.executable), Path.cwd()),
    )
