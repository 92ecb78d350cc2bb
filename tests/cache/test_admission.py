"""Which replies may be kept."""

import json

import pytest

from nncache.cache.admission import Admission, admit
from nncache.hadoop.filestatus import render_missing

STATUS = {
    "accessTime": 1,
    "blockSize": 0,
    "childrenNum": 0,
    "fileId": 16386,
    "group": "supergroup",
    "length": 0,
    "modificationTime": 1,
    "owner": "root",
    "pathSuffix": "",
    "permission": "755",
    "replication": 0,
    "storagePolicy": 0,
    "type": "DIRECTORY",
}


def body(**changes: object) -> bytes:
    """A directory's status, with changes."""
    return json.dumps({"FileStatus": STATUS | changes}).encode()


def refusal(name: str, message: str = "no") -> bytes:
    """A RemoteException of that name."""
    remote = {"exception": name, "javaClassName": f"org.apache.hadoop.{name}", "message": message}
    return json.dumps({"RemoteException": remote}).encode()


@pytest.mark.parametrize(
    ("status", "reply", "expected"),
    [
        (200, body(), Admission.DIRECTORY),
        (200, body(type="FILE"), Admission.ASK_WHETHER_CLOSED),
        (200, body(type="SYMLINK", symlink="/x"), Admission.DO_NOT_KEEP),
        (200, body(snapshotEnabled=True), Admission.DO_NOT_KEEP),
        (200, b'{"FileStatus":{}}', Admission.FAILED),
        (200, b"", Admission.FAILED),
        (404, render_missing("/w/none"), Admission.MISSING),
        (404, render_missing("/w/other"), Admission.FAILED),
        (404, b"<html>", Admission.FAILED),
        (403, refusal("AccessControlException"), Admission.DENIED),
        (403, refusal("StandbyException"), Admission.FAILED),
        (403, b"no JSON", Admission.FAILED),
        (403, refusal("SecurityException", "SecretManager$InvalidToken: no"), Admission.UNAUTHENTICATED),
        (401, b"<html>", Admission.UNAUTHENTICATED),
        (503, render_missing("/w/none"), Admission.FAILED),
        (307, b"", Admission.FAILED),
    ],
)
def test_only_true_answers_are_kept(status: int, reply: bytes, expected: Admission) -> None:
    """Only a 200 or a `FileNotFoundException` of the active NameNode, in its own words, says something."""
    assert admit(status, reply, "/w/none") is expected


@pytest.mark.parametrize("as_requested", ["/", "", "//"])
def test_the_root_is_kept_though_it_is_snapshottable(as_requested: str) -> None:
    """Every release makes it so, with a quota of no snapshots: `GETFILESTATUS /` always says `snapshotEnabled`."""
    assert admit(200, body(snapshotEnabled=True), as_requested) is Admission.DIRECTORY
