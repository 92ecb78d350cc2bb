"""Reports changed entries of the registry to the requests that wait for them."""

import asyncio
from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from nncache.coordination.errors import CoordinationError
from nncache.coordination.session import KazooSession
from nncache.coordination.task_group import run_all
from nncache.proxy.errors import RegistryUnavailableError
from nncache.registry import paths
from nncache.registry.tree_watch import LOOK_S, Current, Present, Removed, TreeWatch, WatchGap

_EVERYTHING: Final = None

Invalidated: TypeAlias = Callable[[str | None], None]
"""Takes the path of an entry that may have changed; None: any entry may have."""


class RegistryFollower:
    """Follows the whole registry with one TreeWatch, for all waiting requests."""

    def __init__(self, session: Callable[[], KazooSession | None], root: str) -> None:
        """Prepare `run`. `session` returns the current session, None if there is none; `root` is the root znode."""
        self._session = session
        self._root = root
        self._tree: TreeWatch | None = None  # over `_of`
        self._of: KazooSession | None = None  # the session that was followed last
        self.gaps = 0  # times that changes may have been missed

    @property
    def followed(self) -> int:
        """Number of entries that are watched now; 0 while `run` does not run."""
        return 0 if self._tree is None else self._tree.watched

    async def run(self, invalidated: Invalidated) -> NoReturn:
        """Report each change until cancelled. If changes may have been missed, report that any entry may have changed.

        Raises:
            RegistryUnavailableError: there is no session yet, the session was replaced, or an ACL refuses a read.
        """
        session = self._session()
        if session is None:
            raise RegistryUnavailableError("the proxy is not connected to ZooKeeper")
        tree = self._tree_of(session)
        try:
            await run_all(
                lambda: self._tell_changes(tree, invalidated),
                lambda: self._tell_losses(session, invalidated),
            )
        except CoordinationError as error:
            raise RegistryUnavailableError(f"cannot be followed: {error}") from error
        finally:
            tree.forget()
        raise AssertionError("both are without end")

    def _tree_of(self, session: KazooSession) -> TreeWatch:
        """Return the same TreeWatch while the session is the same, since its watches stay set in the session."""
        if self._tree is None or self._of is not session:
            self._tree, self._of = TreeWatch(session, self._root, paths.ROOT), session
        return self._tree

    async def _tell_changes(self, tree: TreeWatch, invalidated: Invalidated) -> None:
        is_whole = False  # all changes since then were reported
        async for change in tree.changes():
            match change:
                case WatchGap():
                    self.gaps += 1
                    is_whole = False
                case Current() if not is_whole:
                    is_whole = True
                    invalidated(_EVERYTHING)
                case Present(status=status) if is_whole:
                    invalidated(status.path)
                case Removed(path=path) if is_whole:
                    invalidated(path)
                case _:
                    pass

    async def _tell_losses(self, session: KazooSession, invalidated: Invalidated) -> NoReturn:
        was_connected = session.is_connected
        while True:
            await asyncio.sleep(LOOK_S)
            if was_connected and not session.is_connected:
                invalidated(_EVERYTHING)
            was_connected = session.is_connected
            if self._session() is not session:
                raise RegistryUnavailableError("the session with ZooKeeper is another one")
