"""Tell those who wait which entries of the registry change."""

import asyncio
from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from nncache.coordination.errors import CoordinationError
from nncache.coordination.session import Session
from nncache.coordination.task_group import run_all
from nncache.proxy.errors import RegistryUnavailableError
from nncache.registry import paths
from nncache.registry.tree_watch import LOOK_S, Current, Present, Removed, TreeWatch, WatchGap

_EVERYTHING: Final = None

Invalidated: TypeAlias = Callable[[str | None], None]
"""Takes the path of an entry that may have changed; None: any may."""


class RegistryFollower:
    """Follows the whole registry with one TreeWatch, for all requests that are held."""

    def __init__(self, session: Callable[[], Session | None], root: str) -> None:
        """Follow nothing yet; `session` returns the connection, None while there is none; `root` is the registry's."""
        self._session = session
        self._root = root
        self._tree: TreeWatch | None = None  # of the session that was followed last
        self._of: Session | None = None  # that session
        self.gaps = 0  # times that changes may have been missed

    @property
    def followed(self) -> int:
        """Entries that are watched now; 0 while `run` does not run."""
        return 0 if self._tree is None else self._tree.watched

    async def run(self, invalidated: Invalidated) -> NoReturn:
        """Tell of each change, until cancelled; of any that may have been missed, as of one of everything.

        Raises:
            RegistryUnavailableError: there is no connection yet, another one, or an ACL refuses to be read.
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

    def _tree_of(self, session: Session) -> TreeWatch:
        """Return one for as long as the session is the same, since the watches that it has set stay."""
        if self._tree is None or self._of is not session:
            self._tree, self._of = TreeWatch(session, self._root, paths.ROOT), session
        return self._tree

    async def _tell_changes(self, tree: TreeWatch, invalidated: Invalidated) -> None:
        is_whole = False  # whether all changes since were reported
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

    async def _tell_losses(self, session: Session, invalidated: Invalidated) -> NoReturn:
        was_connected = session.is_connected
        while True:
            await asyncio.sleep(LOOK_S)
            if was_connected and not session.is_connected:
                invalidated(_EVERYTHING)
            was_connected = session.is_connected
            if self._session() is not session:
                raise RegistryUnavailableError("the session with ZooKeeper is another one")
