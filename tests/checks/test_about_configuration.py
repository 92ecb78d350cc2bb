"""Consequences of the NameNodes' /conf for nncache."""

import pytest

from nncache.checks.about_configuration import PROXY_SERVERS, RETAINED, proxy_servers, retention
from nncache.checks.facts import CheckFacts, Contact
from nncache.hadoop.server_kind import ServerKind
from tests.checks.samples import ON_ZOOKEEPER, ONE, namenode, of_proxy, of_publisher, reported


def with_conf(conf: dict[str, str]) -> CheckFacts:
    """Return facts of a proxy whose NameNode has this configuration and sees the proxy at 10.0.0.7."""
    us = Contact(address=ONE.http, kind=ServerKind.NAMENODE_HTTP, own_host="10.0.0.7")
    return of_proxy(namenodes={ONE: namenode(conf=conf)}, contacts={ONE.http: us})


@pytest.mark.parametrize(("retained", "verdict"), [("1000000", "ok"), ("100000", "ok"), ("99999", "warning")])
def test_few_edits_are_few_for_a_restart(retained: str, verdict: str) -> None:
    """The line has the number and its key."""
    (line,) = reported(retention(with_conf({RETAINED: retained})))
    assert line.startswith(
        f"{verdict}: nn1:9870 keeps {retained} transactions behind its last checkpoint ({RETAINED};"
    )
    assert (f"set {RETAINED} in hdfs-site.xml of the NameNodes to 1000000" in line) is (verdict == "warning")


def test_without_a_configuration_nothing_is_judged() -> None:
    """/conf was not requested, was refused, or lacks the key."""
    refused = namenode(conf_silence="/conf answers 403")
    for judge in (retention, proxy_servers):
        assert reported(judge(of_proxy())) == ["skipped: because no NameNode answers over HTTP | "]
        (line,) = reported(judge(of_proxy(namenodes={ONE: refused})))
        assert line == "skipped: because /conf answers 403 at nn1:9870 | "
        assert "/conf was not asked" in reported(judge(of_proxy(namenodes={ONE: namenode()})))[0]
    assert reported(retention(with_conf({}))) == [f"skipped: because nn1:9870 does not say {RETAINED} | "]
    assert reported(retention(of_proxy(ON_ZOOKEEPER)))[0].startswith("skipped: because a proxy that follows")
    assert reported(proxy_servers(of_publisher()))[0].startswith(
        "skipped: because a publisher forwards no calls"
    )


def test_our_address_must_be_listed() -> None:
    """It must be reloaded after each NameNode start, which cannot be queried; the line names the log that shows it."""
    (line,) = reported(proxy_servers(with_conf({PROXY_SERVERS: "10.0.0.6, 10.0.0.7"})))
    assert line.startswith("ok: nn1:9870 lists our address 10.0.0.7 in hadoop.proxyservers")
    assert "refreshSuperUserGroupsConfiguration" in line
    (line,) = reported(proxy_servers(with_conf({PROXY_SERVERS: "10.0.0.6"})))
    assert line.startswith(
        "warning: nn1:9870 does not list our address 10.0.0.7 in hadoop.proxyservers (10.0.0.6)"
    )
    assert (
        "hdfs-audit.log shows whether it does | add 10.0.0.7 to hadoop.proxyservers in core-site.xml" in line
    )
    (line,) = reported(proxy_servers(of_proxy(namenodes={ONE: namenode(conf={})})))
    assert "our address (unknown)" in line
    assert "add this host to" in line
