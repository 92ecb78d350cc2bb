"""A NameNode and a ZooKeeper to which more can happen than to the others."""

import contextlib
from collections.abc import Sequence

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import Operation
from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.events import EditsPage
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.fakes import FakeNameNode
from tests.invalidation.publisher.auditor import AuditedTree, Auditor
from tests.invalidation.virtual_time import clock


class PoisonedNameNode(FakeNameNode):
    """A NameNode that can't hand out some edits."""

    poisoned = 0  # no page that begins here or earlier can be read

    def page(self, asked: int) -> EditsPage:
        """Return the reply of getEditsFromTxid."""
        if asked <= self.poisoned:
            raise MalformedReplyError("event 99")
        return super().page(asked)


class AuditedZooKeeper(FakeZooKeeper):
    """A ZooKeeper all of whose transactions are looked at, but for those that no publisher makes."""

    def __init__(self, auditor: Auditor) -> None:
        super().__init__(clock)
        self._auditor = auditor
        self._delays = False  # the next commit stays under way
        self._late: list[tuple[FakeSession, int, Sequence[Operation]]] = []  # such, with their session's id
        self.tree = AuditedTree(auditor.audit)

    def wipe(self) -> None:
        """Lose all data."""
        super().wipe()
        self._auditor.wiped()
        self.tree = AuditedTree(self._auditor.audit)

    def kill(self, session: FakeSession) -> None:
        """Let its process be gone: it never connects again, and ends in time."""
        is_up = self._is_up
        self.disconnect(session)
        self._is_up = is_up
        self._sessions.remove(session)

    def expire_if_any(self, session: FakeSession) -> None:
        """End a session, if there is one."""
        if session.session_id:
            self.expire(session)

    def delay_next_commit(self) -> None:
        """Cut the connection under the next commit, and let it still be under way until `arrive`."""
        self._delays = True

    def arrive(self) -> None:
        """Let all commits that are under way arrive after all, unless their session has ended."""
        late, self._late = self._late, []
        for session, session_id, operations in late:
            if session.session_id == session_id:
                with contextlib.suppress(ZnodeError):
                    self._fire(self.tree.commit(operations, session_id))

    def tamper(self, operations: Sequence[Operation]) -> None:
        """Do what no publisher does."""
        assert isinstance(self.tree, AuditedTree)
        self._fire(self.tree.tamper(operations))

    def commit(self, session: FakeSession, operations: Sequence[Operation]) -> None:
        """Carry out a commit that has arrived."""
        if not self._delays:
            super().commit(session, operations)
            return
        self._delays = False
        self._late.append((session, session.session_id, operations))
        session.disconnect()
        session.connect(session.session_id)
