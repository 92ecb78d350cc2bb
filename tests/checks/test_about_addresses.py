"""Each address is judged by the server that answers; the line has the key, the address and the right value."""

import pytest

from nncache.checks.about_addresses import addresses
from nncache.checks.facts import CheckFacts, Contact, Trouble
from nncache.hadoop.server_kind import ServerKind
from tests.checks.samples import ON_ZOOKEEPER, PAIR, contacts, of_proxy, reported

RIGHT = {"nn1:9870": ServerKind.NAMENODE_HTTP, "nn1:8020": ServerKind.HADOOP_RPC}


def with_contact(contact: Contact, **flags: object) -> CheckFacts:
    """Return facts in which one address has another server than it should."""
    return of_proxy(flags, contacts=dict(contacts(RIGHT)) | {contact.address: contact})


def test_what_is_right_is_reported_for_each() -> None:
    """Each address has a line, in the order of the settings."""
    facts = of_proxy(ON_ZOOKEEPER, contacts=contacts(RIGHT | {"zk1:2181": ServerKind.ZOOKEEPER}))
    assert reported(addresses(facts)) == [
        "ok: namenode_http nn1:9870 is the HTTP port of a NameNode | ",
        "ok: namenode_rpc nn1:8020 is a Hadoop RPC port | ",
        "ok: zookeeper zk1:2181 is a ZooKeeper | ",
    ]


@pytest.mark.parametrize("kind", [kind for kind in ServerKind if kind not in RIGHT.values()])
def test_any_other_kind_is_named(kind: ServerKind) -> None:
    """The kind is named for namenode_http. Only a server that requires authentication may still be a NameNode."""
    http, rpc = reported(addresses(with_contact(Contact(address="nn1:9870", kind=kind, name="x"))))
    if kind is ServerKind.LOCKED_HTTP:
        assert http.startswith("ok: ")
    else:
        assert http.startswith(f"failed: namenode_http nn1:9870 {kind.value} (x) | ")
        assert "in --namenode-http, replace nn1:9870 by the NameNode's HTTP address" in http
    assert rpc.startswith("ok: ")
    assert ("set --namenode-tls to true, and --namenode-ca to the PEM file" in http) is (
        kind is ServerKind.TLS
    )
    assert ("HTTP_AND_HTTPS" in http) is (kind is ServerKind.TLS)
    assert ("set --namenode-tls to false" in http) is (kind is ServerKind.PLAIN_HTTP)
    assert ("not a proxy in front of it" in http) is (kind is ServerKind.PROXY)


def test_both_lists_swapped_are_one_line() -> None:
    """The line has the right values. A partly swapped list is judged address by address."""
    swapped = {
        "nn1:9870": ServerKind.HADOOP_RPC,
        "nn2:9870": ServerKind.HADOOP_RPC,
        "nn1:8020": ServerKind.NAMENODE_HTTP,
        "nn2:8020": ServerKind.NAMENODE_HTTP,
    }
    (line,) = reported(addresses(of_proxy(PAIR, contacts=contacts(swapped))))
    assert line.endswith(
        "they are swapped | set --namenode-http to nn1:8020,nn2:8020 and --namenode-rpc to nn1:9870,nn2:9870"
    )
    partly = swapped | {"nn2:8020": ServerKind.HADOOP_RPC}
    lines = reported(addresses(of_proxy(PAIR, contacts=contacts(partly))))
    assert [line.split(":")[0] for line in lines] == ["failed", "failed", "failed", "ok"]


def test_a_server_that_is_down_is_only_a_warning_beside_others() -> None:
    """It may be the standby of a pair. An unresolvable name is always a failure."""
    down = Contact(address="nn2:9870", trouble=Trouble.UNREACHABLE, why="[Errno 111] x")
    unknown = Contact(address="nn2:8020", trouble=Trouble.UNRESOLVED, why="unknown")
    both = {each.address: each for each in (down, unknown)}
    _, http, _, rpc = reported(addresses(of_proxy(PAIR, contacts=dict(contacts(RIGHT)) | both)))
    assert http.startswith(
        "warning: namenode_http nn2:9870 cannot be reached: [Errno 111] x; others of the list answer"
    )
    assert rpc.startswith(
        "failed: namenode_rpc nn2:8020 cannot be resolved: unknown | in --namenode-rpc, replace"
    )


@pytest.mark.parametrize(("trouble", "word"), [(Trouble.UNREACHABLE, "start"), (Trouble.SLOW, "start")])
def test_the_only_server_down_is_a_failure(trouble: Trouble, word: str) -> None:
    """The remedy lists all that can be done."""
    line, _ = reported(addresses(with_contact(Contact(address="nn1:9870", trouble=trouble, why="y"))))
    assert line.startswith(f"failed: namenode_http nn1:9870 {trouble.value}: y | {word} that server")


@pytest.mark.parametrize(
    ("listen", "hosts", "is_own"),
    [
        ("nn1:9870", (), True),
        ("10.0.0.1:9870", ("10.0.0.1",), True),
        ("0.0.0.0:9870", ("127.0.0.1",), True),
        ("0.0.0.0:9870", ("10.0.0.9",), False),
        ("10.0.0.1:9871", ("10.0.0.1",), False),
        ("127.0.0.1:0", ("127.0.0.1",), False),
    ],
)
def test_a_proxy_in_front_of_itself_is_seen_before_it_runs(
    listen: str, hosts: tuple[str, ...], *, is_own: bool
) -> None:
    """Its listen address is recognized in any form."""
    contact = Contact(address="nn1:9870", hosts=hosts, trouble=Trouble.UNREACHABLE, why="y")
    line, _ = reported(addresses(with_contact(contact, listen=listen)))
    assert ("on which this proxy itself listens" in line) is is_own


def test_what_was_not_seen_in_time_is_skipped() -> None:
    """A missing fact does not count as a success."""
    assert (
        reported(addresses(of_proxy()))[0]
        == "skipped: because namenode_http nn1:9870 was not looked at in time | "
    )


@pytest.mark.parametrize("kind", [ServerKind.PLAIN_HTTP, ServerKind.TLS, ServerKind.HADOOP_RPC])
def test_with_tls_the_https_address_is_right(kind: ServerKind) -> None:
    """A TLS port without HTTP is not a NameNode."""
    line, _ = reported(addresses(with_contact(Contact(address="nn1:9870", kind=kind), namenode_tls=True)))
    assert line.startswith(f"failed: namenode_http nn1:9870 {kind.value} | ")
    assert "replace nn1:9870 by the NameNode's HTTPS address (dfs.namenode.https-address" in line
    assert "namenode-tls to true" not in line


def test_one_untrusted_certificate_is_a_failure() -> None:
    """The next failover needs it."""
    contact = Contact(address="nn2:9870", trouble=Trouble.UNTRUSTED, why="its certificate is old")
    known = dict(contacts(RIGHT)) | {contact.address: contact}
    lines = reported(addresses(of_proxy({**PAIR, "namenode_tls": True}, contacts=known)))
    assert (
        "failed: namenode_http nn2:9870 is not trusted: its certificate is old | correct --namenode-ca, the "
        "certificate, or the name in --namenode-http" in lines
    )


@pytest.mark.parametrize(
    ("tls", "kind", "what"),
    [
        (False, ServerKind.ZOOKEEPER, "ok: zookeeper zk1:2181"),
        (True, ServerKind.TLS, "ok: zookeeper zk1:2181"),
        (
            False,
            ServerKind.TLS,
            "if that is a secureClientPort of ZooKeeper, set --zookeeper-tls to true and",
        ),
        (
            True,
            ServerKind.ZOOKEEPER,
            "replace zk1:2181 by that server's secureClientPort, or set --zookeeper-tls to",
        ),
    ],
)
def test_a_zookeeper_is_wanted_on_the_port_that_the_settings_say(
    *, tls: bool, kind: ServerKind, what: str
) -> None:
    """That is the plain port, or the secure one with `zookeeper_tls`. For the other one both remedies are given."""
    facts = of_proxy(ON_ZOOKEEPER | {"zookeeper_tls": tls}, contacts=contacts({"zk1:2181": kind}))
    (line,) = [each for each in reported(addresses(facts)) if "zk1" in each]
    assert what in line or what.replace("--zookeeper-tls", "zookeeper_tls") in line, line
