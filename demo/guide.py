"""Where to go from here: addresses and commands that work on the running system. (demo/guide.py)"""

import sys
from dataclasses import dataclass
from pathlib import Path

from demo.chapters.waiting import PATH
from demo.stage import OWNER, Stage
from testbed.asker import Asker

_OK = 200


@dataclass(frozen=True, slots=True)
class Hint:
    """A line to copy, and what it is for."""

    purpose: str
    line: str


def hints(*, proxy: str, admin: str, namenode: str, namenode_page: str, nncache: str) -> tuple[Hint, ...]:
    """Return what to try, given the addresses ("host:port"), the NameNode's page and the command's own path."""
    target = f"/webhdfs/v1{PATH}"
    read = f"curl -i 'http://{proxy}{target}?op=GETFILESTATUS&user.name=bob'"
    return (
        Hint("read through nncache; ask twice and look at Cache-Status", read),
        Hint(
            "delete it behind nncache's back, then read again",
            f"curl -X DELETE 'http://{namenode}{target}?op=DELETE&user.name={OWNER}'",
        ),
        Hint("what nncache knows of it", f"{nncache} explain {PATH} --admin {admin}"),
        Hint("nncache's pages: readiness, metrics, explain", f"http://{admin}/"),
        Hint("the NameNode's own page", f"http://{namenode}{namenode_page}"),
    )


def namenode_page(address: str) -> str:
    """Return the NameNode's page for people, if its jars have one, else that of its counters."""
    with Asker(address) as asker:
        for page in ("/dfshealth.html",):
            if asker.ask("GET", page).status == _OK:
                return page
    return "/jmx?qry=Hadoop:service=NameNode,name=NameNodeActivity"


def nncache_command(directory: Path) -> str:
    """Return how to call nncache from this directory: the command beside the Python that runs."""
    command = Path(sys.executable).with_name("nncache")
    return str(command.relative_to(directory) if command.is_relative_to(directory) else command)


def guide(stage: Stage) -> tuple[Hint, ...]:
    """Return the hints for the running system."""
    return hints(
        proxy=stage.proxy.address,
        admin=stage.proxy.admin,
        namenode=stage.namenode_http,
        namenode_page=namenode_page(stage.namenode_http),
        nncache=nncache_command(Path.cwd()),
    )
