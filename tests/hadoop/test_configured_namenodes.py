"""The NameNodes in a cluster's configuration; tests/contracts/test_configuration.py compares Hadoop itself."""

import re
from collections.abc import Mapping

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.configured_namenodes import (
    ConfiguredNameNodes,
    QuorumJournal,
    configured_journal,
    configured_namenodes,
    configured_nameservice,
    parse_quorum_journal,
)
from nncache.net.setting_error import SettingError

PAIR = {
    "fs.defaultFS": "hdfs://ns1",
    "dfs.nameservices": "ns1",
    "dfs.ha.namenodes.ns1": "nn1, nn2",
    "dfs.namenode.rpc-address.ns1.nn1": "a.example:8020",
    "dfs.namenode.rpc-address.ns1.nn2": "b.example:8021",
    "dfs.namenode.http-address.ns1.nn1": "a.example:9870",
    "dfs.namenode.http-address.ns1.nn2": "0.0.0.0:50070",
}


def of(
    values: Mapping[str, str], nameservice: str | None = None, *, tls: bool | None = None
) -> ConfiguredNameNodes:
    """Read them out of these values."""
    return configured_namenodes(Configuration(values, {}), nameservice, tls=tls)


def test_a_pair_is_found_in_the_order_of_its_ids() -> None:
    """A wildcard means the host of the RPC address (DFSUtil.substituteForWildcardAddress)."""
    assert of(PAIR) == ConfiguredNameNodes(
        "ns1", ("a.example:9870", "b.example:50070"), ("a.example:8020", "b.example:8021")
    )


def test_the_nameservices_principal_comes_first() -> None:
    """DFSUtil.setGenericConf takes it in this order; a cluster without Kerberos has none."""
    key = "dfs.namenode.kerberos.principal"
    assert of(PAIR).principal == ""
    assert of(PAIR | {key: "nn/_HOST@R"}).principal == "nn/_HOST@R"
    assert of(PAIR | {key: "nn/_HOST@R", f"{key}.ns1": "hdfs/_HOST@R"}).principal == "hdfs/_HOST@R"


@pytest.mark.parametrize(
    ("values", "http", "rpc"),
    [
        ({"fs.defaultFS": "hdfs://nn.example"}, "nn.example:9870", "nn.example:8020"),
        ({"fs.defaultFS": "hdfs://nn.example:9000/"}, "nn.example:9870", "nn.example:9000"),
        (
            {"fs.defaultFS": "hdfs://nn.example", "dfs.namenode.http-address": "w.example:50070"},
            "w.example:50070",
            "nn.example:8020",
        ),
        (
            {"fs.defaultFS": "s3a://bucket", "dfs.namenode.rpc-address": "nn.example:8020"},
            "nn.example:9870",
            "nn.example:8020",
        ),
        ({"fs.defaultFS": "hdfs://[::1]:8020"}, "[::1]:9870", "[::1]:8020"),
        ({"fs.defaultFS": "hdfs://[fd00::1]"}, "[fd00::1]:9870", "[fd00::1]:8020"),
    ],
    ids=["defaults", "port", "HTTP elsewhere", "another default file system", "IPv6", "IPv6 without a port"],
)
def test_a_single_namenode_needs_no_nameservice(values: dict[str, str], http: str, rpc: str) -> None:
    """Its RPC address is that of the default file system, unless it is configured separately."""
    assert of(values) == ConfiguredNameNodes("default", (http,), (rpc,))
    assert of(values, "mine").nameservice == "mine"


def test_a_nameservice_of_one_namenode() -> None:
    """Its keys end with the nameservice, and the HTTP address may lack that suffix."""
    values = {
        "fs.defaultFS": "hdfs://ns1",
        "dfs.nameservices": "ns1",
        "dfs.namenode.rpc-address.ns1": "a.example:8020",
        "dfs.namenode.http-address": "0.0.0.0:50070",
    }
    assert of(values) == ConfiguredNameNodes("ns1", ("a.example:50070",), ("a.example:8020",))


@pytest.mark.parametrize(
    ("more", "nameservice"),
    [
        ({"fs.defaultFS": "hdfs://ns2"}, "ns2"),
        ({"fs.defaultFS": "viewfs://all", "dfs.nameservice.id": "ns2"}, "ns2"),
        ({"fs.defaultFS": "viewfs://all", "dfs.internal.nameservices": "ns2"}, "ns2"),
        ({"dfs.nameservices": "ns3"}, "ns3"),
        ({"dfs.nameservices": ""}, "default"),
    ],
    ids=["default file system", "own id", "the only one of its own", "the only one", "none"],
)
def test_whose_clients_these_are(more: dict[str, str], nameservice: str) -> None:
    """Of several nameservices, such as sources of distcp, one is the cluster's own."""
    assert configured_nameservice(Configuration({"dfs.nameservices": "ns1,ns2", **more}, {})) == nameservice


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"fs.defaultFS": "viewfs://all", "dfs.nameservices": "ns1,ns2"},
            "dfs.nameservices: ns1, ns2: are several; say with nameservice which one is meant",
        ),
        (
            {
                "fs.defaultFS": "viewfs://all",
                "dfs.nameservices": "x,ns1,ns2",
                "dfs.internal.nameservices": "ns1,ns2",
            },
            "dfs.nameservices: ns1, ns2: are several",
        ),
        (
            {"dfs.ha.namenodes.ns1": ""},
            "dfs.namenode.rpc-address.ns1: absent: must be host:port of the NameNode of ns1; if it has several, dfs.ha",
        ),
        (
            {"dfs.http.policy": "https"},
            "dfs.http.policy: https: must be one of HTTP_ONLY, HTTP_AND_HTTPS, HTTPS",
        ),
        (
            {"dfs.ha.namenodes.ns1": "nn1,nn3"},
            "dfs.namenode.rpc-address.ns1.nn3: absent: must be host:port of that NameNode",
        ),
        ({"dfs.namenode.rpc-address.ns1.nn2": "b:x"}, "dfs.namenode.rpc-address.ns1.nn2: b:x: "),
        ({"dfs.namenode.http-address.ns1.nn2": "b"}, "dfs.namenode.http-address.ns1.nn2: b: "),
        (
            {"dfs.nameservices": "", "fs.defaultFS": "s3a://bucket"},
            "fs.defaultFS: s3a://bucket: names no NameNode, and dfs.namenode.rpc-address is absent",
        ),
        ({"dfs.nameservices": "", "fs.defaultFS": "hdfs:///"}, "fs.defaultFS: hdfs:///: names no NameNode"),
    ],
)
def test_what_does_not_say_enough_is_refused(more: dict[str, str], message: str) -> None:
    """The error names the key to change."""
    with pytest.raises(SettingError, match=re.escape(message)):
        of({**PAIR, **more})


@pytest.mark.parametrize(
    ("more", "nameservice", "message"),
    [
        ({}, "ns7", "nameservice: ns7: must be one of dfs.nameservices: ns1"),
        (
            {"dfs.nameservices": "ns1,ns2", "fs.defaultFS": "hdfs://nn.example:8020"},
            "ns2",
            "dfs.namenode.rpc-address.ns2: absent: must be host:port of the NameNode of ns2; if it has several, dfs.ha",
        ),
    ],
)
def test_a_nameservice_that_is_not_described_is_refused(
    more: dict[str, str], nameservice: str, message: str
) -> None:
    """No other nameservice takes its place."""
    with pytest.raises(SettingError, match=re.escape(message)):
        of({**PAIR, **more}, nameservice)


def test_a_configuration_without_anything_is_refused() -> None:
    """The default of fs.defaultFS is the local file system."""
    with pytest.raises(SettingError, match=r"fs\.defaultFS: file:///: names no NameNode"):
        of({})


@pytest.mark.parametrize(
    ("policy", "wanted", "tls"),
    [
        ("HTTPS_ONLY", None, True),
        ("https_only", None, True),  # HttpConfig.Policy.fromString
        ("HTTPS_ONLY", True, True),
        ("HTTP_AND_HTTPS", None, False),
        ("HTTP_AND_HTTPS", True, True),
        ("HTTP_AND_HTTPS", False, False),
        ("HTTP_ONLY", False, False),
        ("HTTP_ONLY", None, False),
    ],
)
def test_https_addresses_are_used_if_wanted_or_alone(policy: str, wanted: bool | None, *, tls: bool) -> None:
    """HTTPS has its own keys, suffixes and default port."""
    more = {"dfs.http.policy": policy, "dfs.namenode.https-address.ns1.nn1": "a.example:9443"}
    found = of({**PAIR, **more}, tls=wanted)
    https = ("a.example:9443", "b.example:9871")
    assert (found.tls, found.http) == (tls, https if tls else of(PAIR).http)


@pytest.mark.parametrize(("policy", "wanted"), [("HTTPS_ONLY", False), ("HTTP_ONLY", True)])
def test_what_the_policy_excludes_is_refused(policy: str, *, wanted: bool) -> None:
    """The error names the conflicting setting."""
    text = f"namenode_tls: {str(wanted).lower()}: does not fit dfs.http.policy, which is {policy}"
    with pytest.raises(SettingError, match=text):
        of({**PAIR, "dfs.http.policy": policy}, tls=wanted)


def test_a_journal_names_all_its_journalnodes() -> None:
    """The default port is 8485 (DFSConfigKeys.DFS_JOURNALNODE_RPC_PORT_DEFAULT)."""
    journal = QuorumJournal(("j1:8485", "j2:8486", "j3:8485"), "ns1")
    assert parse_quorum_journal("k", "qjournal://j1;j2:8486;j3:8485/ns1") == journal


@pytest.mark.parametrize(
    "uri",
    [
        "file:///shared",
        "qjournal:j1:8485/ns1",
        "qjournal:///ns1",
        "qjournal://j1:8485",
        "qjournal://j1:8485/ns1/2",
        "qjournal://j1:8485;j1:8485/ns1",
    ],
)
def test_what_is_no_journal_is_refused(uri: str) -> None:
    """The error names the key, the value and the valid form."""
    with pytest.raises(SettingError, match=re.escape(uri)):
        parse_quorum_journal("shared_edits_dir", uri)


@pytest.mark.parametrize(
    ("suffix", "uri", "found"),
    [
        ("", "qjournal://j1/ns1", "qjournal://j1/ns1"),
        (".ns1", "qjournal://j2/ns1", "qjournal://j2/ns1"),
        (".ns1.nn1", "qjournal://j3/ns1", "qjournal://j3/ns1"),
        (".ns2", "qjournal://j4/ns2", ""),
        ("", "file:///shared", ""),
    ],
)
def test_the_journal_of_a_nameservice(suffix: str, uri: str, found: str) -> None:
    """A key with the nameservice or a NameNode has priority over one without (DFSUtil.setGenericConf)."""
    assert (
        configured_journal(Configuration({**PAIR, f"dfs.namenode.shared.edits.dir{suffix}": uri}, {}), "ns1")
        == found
    )


def test_one_name_for_several_journalnodes_is_no_journal() -> None:
    """One of them would be a majority, and a publisher would publish what the log may not keep."""
    keys = {
        **PAIR,
        "dfs.namenode.shared.edits.dir": "qjournal://journal/ns1",
        "dfs.namenode.edits.qjournals.resolution-enabled": "true",
    }
    assert not configured_journal(Configuration(keys, {}), "ns1")
