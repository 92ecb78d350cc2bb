"""What the DNS daemon says of itself."""

from dataclasses import replace

from nncache.daemons.dns_wiring import DnsState, lines

NEW = DnsState(is_loaded=False, is_current=False, is_zookeeper_connected=False)
CONNECTED = DnsState(is_loaded=False, is_current=False, is_zookeeper_connected=True)
WELL = DnsState(is_loaded=True, is_current=True, is_zookeeper_connected=True)
AWAY = DnsState(is_loaded=True, is_current=False, is_zookeeper_connected=False)


def test_what_was_known_is_answered_while_zookeeper_is_away() -> None:
    """So it stays ready, and says that something is wrong."""
    assert [each.is_ready for each in (NEW, CONNECTED, WELL, AWAY)] == [False, False, True, True]
    assert [each.reason for each in (NEW, CONNECTED, WELL, AWAY)] == [
        "no-zookeeper",
        "not-loaded",
        "",
        "no-zookeeper",
    ]


def test_each_state_is_said_once() -> None:
    """Bad ones with what to do."""
    ((news),) = lines(None, NEW)
    assert news.is_bad
    assert "SERVFAIL; see that the servers of zookeeper run" in news.text
    assert lines(NEW, CONNECTED) == ()
    ((news),) = lines(CONNECTED, WELL)
    assert not news.is_bad
    ((news),) = lines(WELL, AWAY)
    assert news.is_bad
    assert "last known" in news.text


def test_a_registry_that_is_not_there_is_named() -> None:
    """With the setting that says where it is."""
    missing = replace(WELL, missing_root="/nope")
    ((news),) = lines(None, missing)
    assert news.is_bad
    assert news.text.startswith(
        "there is no registry at /nope in ZooKeeper: no name is found; correct registry_root"
    )
    assert lines(missing, missing) == ()
    ((news),) = lines(missing, WELL)
    assert not news.is_bad
