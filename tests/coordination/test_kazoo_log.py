"""KazooLog: kazoo does not fill the log, and what only it knows is heard."""

import logging

import pytest

from nncache.coordination.kazoo_log import KazooLog


def test_a_host_without_an_address_is_heard_of() -> None:
    """In kazoo's words; nothing else is."""
    heard: list[str] = []
    log = KazooLog(heard.append)
    log.warning("Cannot resolve %s: %s", "zk1", OSError(-2, "Name or service not known"))
    log.warning("Connection dropped: %s", "socket connection broken")
    assert heard == ["Cannot resolve zk1: [Errno -2] Name or service not known"]


def test_the_rest_is_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings and errors, a traceback too; not that of every call."""
    log = KazooLog(lambda _: None)
    with caplog.at_level(logging.DEBUG, logger="nncache.coordination.kazoo_log"):
        log.debug("Sending request(xid=%s): %s", 1, "GetData")
        log.warning("Connection dropped: %s", "socket connection broken")
        log.error("Unhandled exception in connection loop", exc_info=RuntimeError("xids do not match"))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "kazoo: Connection dropped: socket connection broken"),
        ("DEBUG", "kazoo: Unhandled exception in connection loop"),
    ]
    assert caplog.records[1].exc_info
