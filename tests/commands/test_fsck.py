"""`nncache fsck`: its output and its exit codes."""

import pytest
from click.testing import CliRunner, Result

from nncache.commands import namenode
from nncache.commands.group import nncache
from nncache.coordination.errors import ConnectionLostError
from nncache.errors import StartError
from nncache.namenode.namespace.audit import Inconsistency, Kind
from nncache.namenode.node.fsck import Audited
from nncache.namenode.on_zookeeper import Place

LOST = Inconsistency(Kind.MISSING, "blk_1 of /i/5 (a\x1b[2J\n3 inodes, 1 blocks: 0 findings, 0 left)")
STRAY = Inconsistency(Kind.LOST, "/i/7")


def run(monkeypatch: pytest.MonkeyPatch, found: Audited | Exception) -> Result:
    """Return the result of the command when the audit finds this."""

    async def fsck_of(_: Place, *, repair: bool) -> Audited:
        assert not repair
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(namenode, "fsck_of", fsck_of)
    return CliRunner().invoke(nncache, ["fsck", "--zookeeper", "h:1"])


def test_a_finding_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of HDFS choose the names in it. Escaped, they can neither control the terminal nor forge the last line."""
    result = run(monkeypatch, Audited(3, 1, (LOST, STRAY), repaired=(STRAY,)))
    assert result.output.splitlines() == [
        "a block that no DataNode holds: blk_1 of /i/5 (a\\x1b[2J\\n3 inodes, 1 blocks: 0 findings, 0 left)",
        "repaired: an inode that no entry leads to: /i/7",
        "3 inodes, 1 blocks: 2 findings, 1 left",
    ]
    assert result.exit_code == 1


def test_the_exit_code_tells_a_fault_from_no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """0: no finding is left; 1: some are left; 2: the audit failed, so nothing is known."""
    assert run(monkeypatch, Audited(3, 1, ())).exit_code == 0
    result = run(monkeypatch, ConnectionLostError("no answer"))
    assert isinstance(result.exception, StartError)
    assert result.exception.exit_code == 2
    assert str(result.exception) == "the namespace cannot be audited: no answer"
