"""The probes of a NameNode, against a real one and against other servers."""

import asyncio
import json
import time

import pytest

from nncache.checks.about_configuration import RETAINED
from nncache.checks.facts import NameNodeFound
from nncache.checks.namenode_probe import ask_over_http, ask_over_rpc
from nncache.hadoop.election_view import HaState, NameNode
from nncache.testbed import Cluster
from tests.commands.planted import silent, socket_server
from tests.http_server import http_server


def over_http(address: str, user: str = "hdfs") -> NameNodeFound:
    """Probe a server over HTTP."""
    return asyncio.run(ask_over_http(NameNode(address, address), user, time.monotonic))


def over_rpc(address: str, user: str, *, reads_edits: bool = True) -> NameNodeFound:
    """Probe a server over RPC."""
    return asyncio.run(ask_over_rpc(NameNode(address, address), user, reads_edits=reads_edits))


def test_a_real_namenode_answers_all_of_it(cluster: Cluster) -> None:
    """HTTP gives beans, configuration, a read and the clock; RPC gives namespace, state and edits."""
    namenode = cluster.namenodes[0]
    found = over_http(namenode.http, cluster.superuser)
    assert found.answer is not None
    assert (found.answer.state, found.named_status, found.anonymous_status) == (HaState.ACTIVE, 200, 200)
    assert found.conf is not None
    assert found.conf[RETAINED] == "1000000"
    assert found.read.status == 200
    assert found.clock_ahead_s is not None
    reported = over_rpc(namenode.rpc, cluster.superuser)
    assert (reported.rpc_namespace, reported.rpc_state, reported.rpc_silence) == (
        found.answer.namespace,
        HaState.ACTIVE,
        "",
    )
    assert reported.edits_txid is not None
    assert reported.groups
    assert over_rpc(namenode.rpc, "alice").groups == ("alice", "users")
    assert over_rpc(namenode.rpc, "no-such-user").groups == ()


def test_who_is_no_superuser_is_refused_the_edits(cluster: Cluster) -> None:
    """The refusal has HDFS's words. A daemon that does not need the edits is not refused."""
    rpc = cluster.namenodes[0].rpc
    reported = over_rpc(rpc, "alice")
    assert (reported.edits_txid, reported.is_refused) == (None, True)
    assert reported.edits_refusal.startswith("AccessControlException: Access denied for user alice")
    assert over_rpc(rpc, "alice", reads_edits=False).edits_refusal == ""


@pytest.mark.parametrize(
    ("status", "body", "silence"),
    [
        (403, "", "/conf answers 403"),
        (200, "<html>", "/conf answers no configuration"),
        (200, json.dumps({"properties": [{"key": "a", "value": "1"}, {"key": "b", "value": None}]}), ""),
    ],
)
def test_a_configuration_may_be_kept_back(status: int, body: str, silence: str) -> None:
    """The reason is reported. A property without a value is left out."""
    with http_server(status, {"WWW-Authenticate": "Negotiate", "Date": "never"}, body) as address:
        found = over_http(address)
    assert found.conf_silence == silence
    assert found.conf == (None if silence else {"a": "1"})
    assert (found.named_status, found.challenge, found.answer) == (status, "Negotiate", None)
    assert (found.read.status, found.clock_ahead_s is None) == (status, False)


def test_a_server_that_says_nothing_is_waited_for_once() -> None:
    """All probes run concurrently."""
    with socket_server(silent) as address:
        found = over_http(address)
        reported = over_rpc(address, "hdfs")
    assert (found.answer, found.named_status, found.read.says) == (None, 0, "no answer in 4.5 s")
    assert "no answer in" in found.silence
    assert "no reply to versionRequest" in reported.rpc_silence
