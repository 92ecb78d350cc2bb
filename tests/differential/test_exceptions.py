"""Which differences a named exception of Bounded excuses depends on the source of edits."""

import json
from typing import cast

import pytest

from nncache.testbed.asker import RawReply
from tests.differential.exceptions import Excuse, Excuses
from tests.differential.operation import Operation
from tests.real.proxied_cluster import CallTarget, ProxiedCluster

UNASKED = cast("ProxiedCluster", None)
DONE = RawReply(200, (), b"", 1.0, 1.0)


def status(**fields: object) -> RawReply:
    """Return a status from memory, half a second later than DONE."""
    body = json.dumps({"FileStatus": {"fileId": 7, "storagePolicy": 0, **fields}}).encode()
    return RawReply(200, (("Cache-Status", "nncache; hit"),), body, 1.5, 1.5)


@pytest.mark.parametrize("reads_log", [False, True])
@pytest.mark.parametrize(
    ("kind", "now", "excuse"),
    [
        ("SETSTORAGEPOLICY", {"storagePolicy": 2}, Excuse.POLICY),
        ("ALLOWSNAPSHOT", {"snapshotEnabled": True}, Excuse.SNAPSHOTTABLE),
    ],
)
def test_only_events_leave_anything_out(
    kind: str, now: dict[str, object], excuse: Excuse, *, reads_log: bool
) -> None:
    """The edit log has changes of policies and of snapshottable directories."""
    excuses = Excuses(reads_log=reads_log)
    excuses.learn(Operation(kind, CallTarget.NAMENODE, None, ("/d",)), DONE, UNASKED)
    assert excuses.of_fields("/d", status(), status(**now)) == (() if reads_log else (excuse,))
    assert excuses.of_fields("/d", status(), status(length=1)) == ()
