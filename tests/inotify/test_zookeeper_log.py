"""Find the sessions that wrote, in the output of ZooKeeper's tool, which prints stored bytes as they are."""

from tests.inotify.zookeeper_log import Transaction, parsed, writers

NAMESPACE = "/r/ns1"


def text(*operations: tuple[str, str]) -> str:
    """Return a transaction's operations as the tool prints them; a length may look like the end of a line."""
    return "multi " + ";".join(f"{kind}:\0\0\0\n{path}\0\0\0\x01x" for kind, path in operations)


ELECTED = text(("setData", f"{NAMESPACE}/.epoch"), ("create", f"{NAMESPACE}/.publisher"))
WRITTEN = text(("check", f"{NAMESPACE}/.epoch"), ("create", f"{NAMESPACE}/.cache/7"))


def line(zxid: int, session: int, what: str) -> str:
    """Return a transaction as a line of the tool's output."""
    return f"11/25/26, 2:10:03 AM UTC session {session:#x} cxid 0x1 zxid {zxid:#x} {what}\n"


def test_transactions_are_separated() -> None:
    """A length that looks like the end of a line does not split a transaction."""
    printed = (
        "ZooKeeper Transactional Log File\n"
        + line(1, 7, ELECTED)
        + line(2, 8, WRITTEN)
        + "EOF reached after 2 txns.\n"
    )
    assert tuple(parsed(printed)) == (Transaction(1, 7, ELECTED), Transaction(2, 8, WRITTEN))


def test_only_the_leader_elected_last_may_write() -> None:
    """Any client may delete the lock. A write by an earlier leader, or before any election, is reported."""
    early, late = Transaction(1, 5, WRITTEN), Transaction(7, 5, WRITTEN)
    log = (
        early,
        Transaction(2, 5, ELECTED),
        Transaction(3, 5, WRITTEN),
        Transaction(4, 9, text(("delete", f"{NAMESPACE}/.publisher"))),
        Transaction(5, 6, ELECTED),
        Transaction(6, 6, WRITTEN),
        late,
        Transaction(8, 5, WRITTEN.replace(NAMESPACE, "/r/other")),
        Transaction(9, 5, "closeSession"),
        Transaction(10, 5, f"{ELECTED};error:????"),
        Transaction(11, 5, "multi error:????;error:????"),
    )
    found = writers(log, NAMESPACE)
    assert (found.elections, found.by_leaders, found.by_others) == (2, 2, (early, late))
