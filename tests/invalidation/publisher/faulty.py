"""A NameNode and a ZooKeeper with more ways to fail."""

import contextlib
from collections.abc import Sequence

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import ZnodeOp
from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.events import EditsPage
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.fakes import FakeNameNode
from tests.invalidation.publisher.auditor import AuditedTree, Auditor
from tests.invalidation.virtual_time import clock


class PoisonedNameNode(FakeNameNode):
    """A NameNode that cannot serve some edits."""

    poisoned = 0  # no page that begins here or earlier can be served

    def page(self, asked: int) -> EditsPage:
        """Return the reply of getEditsFromTxid."""
        if asked <= self.poisoned:
            raise MalformedReplyError("event 99")
        return super().page(asked)


class AuditedZooKeeper(FakeZooKeeper):
    """A ZooKeeper whose transactions are all checked, except those that no publisher makes."""

    def __init__(self, auditor: Auditor) -> None:
        super().__init__(clock)
        self._auditor = auditor
        self._delays = False  # the next commit stays in flight
        self._late: list[tuple[FakeSession, int, Sequence[ZnodeOp]]] = []  # in flight, with session ids
        self.tree = AuditedTree(auditor.audit)

    def wipe(self) -> None:
        """Lose all data."""
        super().wipe()
        self._auditor.wiped()
        self.tree = AuditedTree(self._auditor.audit)

    def kill(self, session: FakeSession) -> None:
        """Kill its process: the session never reconnects, and expires after its timeout."""
        is_up = self._is_up
        self.disconnect(session)
        self._is_up = is_up
        self._sessions.remove(session)

    def expire_if_any(self, session: FakeSession) -> None:
        """Expire a session, if it exists."""
        if session.session_id:
            self.expire(session)

    def delay_next_commit(self) -> None:
        """Cut the connection during the next commit, which stays in flight until `arrive`."""
        self._delays = True

    def arrive(self) -> None:
        """Deliver all commits in flight, except those of ended sessions."""
        late, self._late = self._late, []
        for session, session_id, operations in late:
            if session.session_id == session_id:
                with contextlib.suppress(ZnodeError):
                    self._fire(self.tree.commit(operations, session_id))

    def tamper(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out operations that no publisher makes."""
        assert isinstance(self.tree, AuditedTree)
        self._fire(self.tree.tamper(operations))

    def commit(self, session: FakeSession, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a commit that has arrived, or keep it in flight."""
        if not self._delays:
            super().commit(session, operations)
            return
        self._delays = False
        self._late.append((session, session.session_id, operations))
        session.disconnect()
        session.connect(session.session_id)
