"""Where to go from here: addresses and commands that work on the running system. (demo/guide.py)"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from nncache.demo.chapters.waiting import PATH
from nncache.demo.commands import shown
from nncache.demo.counter import BEAN
from nncache.demo.stage import FILTER, NAMESERVICE, OWNER, Stage
from nncache.testbed.asker import Asker

_UI: Final = "/dfshealth.html"  # Hadoop 3.5.0's jars come without it
_COUNTERS: Final = f"/jmx?qry={BEAN}"


@dataclass(frozen=True, slots=True)
class Hint:
    """A line to copy, and what it is for."""

    purpose: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where everything is, "host:port" each."""

    proxy: str
    proxy_admin: str
    publisher_admin: str
    namenode: str
    zookeeper: str


def hints(at: Addresses, *, has_ui: bool) -> tuple[Hint, ...]:
    """Return what to try."""
    target = f"/webhdfs/v1{PATH}"
    return (
        Hint(
            "Read through nncache; ask twice and look at Cache-Status:",
            f"curl -i 'http://{at.proxy}{target}?op=GETFILESTATUS&user.name=bob'",
        ),
        Hint(
            "Delete it behind nncache's back, then read again:",
            f"curl -X DELETE 'http://{at.namenode}{target}?op=DELETE&user.name={OWNER}'",
        ),
        Hint("What the proxy knows of it, and why:", shown("explain", PATH, "--admin", at.proxy_admin)),
        Hint(
            "Follow the filter's events (Ctrl-C ends it):",
            shown("watch", FILTER, "--nameservice", NAMESERVICE, "--zookeeper", at.zookeeper),
        ),
        Hint("The filters that there are:", shown("filters", "list", "--namenode-http", at.namenode)),
        Hint("The proxy's own pages, for a browser:", f"http://{at.proxy_admin}/"),
        Hint("The publisher's:", f"http://{at.publisher_admin}/"),
        Hint("The NameNode's web UI:", f"http://{at.namenode}{_UI}")
        if has_ui
        else Hint("The NameNode's counters:", f"http://{at.namenode}{_COUNTERS}"),
    )


def guide(stage: Stage) -> tuple[Hint, ...]:
    """Return the hints for the running system."""
    with Asker(stage.namenode_http) as asker:
        has_ui = asker.ask("GET", _UI).status == HTTPStatus.OK
    at = Addresses(
        proxy=stage.proxy.address,
        proxy_admin=stage.proxy.admin,
        publisher_admin="" if stage.publisher is None else stage.publisher.admin,
        namenode=stage.namenode_http,
        zookeeper=stage.zookeeper.address,
    )
    return hints(at, has_ui=has_ui)
