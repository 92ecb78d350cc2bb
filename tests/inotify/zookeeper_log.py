"""Find which sessions wrote, from ZooKeeper's own transaction logs.

Each transaction in a log names the session that made it. A session is elected by the transaction that increments the
epoch. Until the next election no other session may write.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nncache.testbed import Cluster, ZooKeeperProcess
from nncache.testbed.errors import ServerStartError

TOOL: Final = "org.apache.hadoop.shaded.org.apache.zookeeper.server.persistence.TxnLogToolkit"

_PRINTED: Final = re.compile(
    r" session 0x(?P<session>[0-9a-f]+) cxid \S+ zxid 0x(?P<zxid>[0-9a-f]+) (?P<text>.*?)"
    r"(?=\n[^\n]{10,40} session 0x|\nEOF reached|\Z)",
    re.DOTALL,
)
"""A transaction. The tool prints a transaction of several operations as it is stored: each string is preceded by four
bytes of length, any of which may be a line feed."""


REFUSED: Final = re.compile("(?:^multi |;)error:")
"""Marks a logged transaction that changed nothing; its entry also holds the operations before the refused one."""


@dataclass(frozen=True, slots=True, order=True)
class Transaction:
    """A logged transaction."""

    zxid: int
    session: int
    text: str  # its operations, as the tool prints them


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """The sessions that wrote below a nameservice's znode."""

    elections: int
    by_leaders: int  # transactions of the session that was elected last
    by_others: tuple[Transaction, ...]  # must be empty


def transactions(cluster: Cluster, servers: Iterable[ZooKeeperProcess]) -> tuple[Transaction, ...]:
    """Return all transactions in the logs of any server, in order: a server that was down for long may lack some.

    Raises:
        StartError: ZooKeeper's tool fails.
    """
    found: dict[int, Transaction] = {}
    for server in servers:
        for log in sorted(server.data.rglob("log.*")):
            result = cluster.run_main(TOOL, "-d", str(log))
            if result.returncode != 0:
                raise ServerStartError(f"TxnLogToolkit {log.name}: {result.stderr.strip()}")
            found |= {each.zxid: each for each in parsed(result.stdout)}
    return tuple(sorted(found.values()))


def parsed(printed: str) -> Iterable[Transaction]:
    """Parse the output of the tool."""
    for found in _PRINTED.finditer(printed):
        yield Transaction(int(found["zxid"], 16), int(found["session"], 16), found["text"])


def writers(log: Iterable[Transaction], namespace: str) -> Writers:
    """Return the writers below this znode, without its lock."""
    below = re.escape(namespace)
    elected = re.compile(rf"(?:create|setData):.{{4}}{below}/\.epoch\0", re.DOTALL)
    wrote = re.compile(rf"(?:create|setData|delete):.{{4}}{below}/(?!\.publisher(?:\0|$))", re.DOTALL)
    leader: int | None = None
    elections = by_leaders = 0
    by_others: list[Transaction] = []
    for each in log:
        if not each.text.startswith("multi ") or REFUSED.search(each.text):
            continue
        if elected.search(each.text):
            leader, elections = each.session, elections + 1
        elif wrote.search(each.text):
            by_leaders += each.session == leader
            if each.session != leader:
                by_others.append(each)
    return Writers(elections=elections, by_leaders=by_leaders, by_others=tuple(by_others))
