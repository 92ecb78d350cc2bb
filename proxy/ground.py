"""What is there already where a call is about to write. (proxy/ground.py)

MKDIRS, CREATE and CREATESYMLINK make missing ancestors, and what they make costs all that is kept below it.
A directory in the place of the path itself costs nothing: MKDIRS then makes nothing, and the NameNode
redirects a CREATE of it but never carries it out. So that such calls can neither empty the cache nor keep
a whole subtree out of it, the NameNode is asked, before the call is sent, about what the cache cannot prove.
Unless it is known to exist it is missing.
"""

import asyncio
import logging
from dataclasses import dataclass

from cache.metadata_cache import MetadataCache
from hadoop.calls import Call
from hadoop.changes import opens_window, written_path
from hadoop.paths import ROOT
from proxy.complaints import Complaints
from proxy.ports import Clock, NameNodeQueries

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ground:
    """What was there before a call.

    Attributes:
        is_directory: the path is a directory, so nothing can be made in its place.
        topmost_missing: the topmost ancestor that the call may have to make.
        is_known: false where the NameNode gave no answer, so that this is only assumed.
    """

    is_directory: bool = False
    topmost_missing: str | None = None
    is_known: bool = True


UNTOUCHED = Ground()


class Surveyor:
    """Finds out, from the cache or else from the NameNode."""

    def __init__(
        self, cache: MetadataCache, queries: NameNodeQueries, clock: Clock, *, query_timeout_s: float
    ) -> None:
        self._cache = cache
        self._queries = queries
        self._clock = clock
        self._query_timeout_s = query_timeout_s
        self._complaints = Complaints(_log, clock)  # about the last
        self.query_failures = 0  # questions to the NameNode without an answer

    async def survey(self, call: Call) -> Ground:
        """Look before a call is sent; takes no longer than one query may."""
        path = written_path(call)
        is_two_step = opens_window(call)
        makes_ancestors = is_two_step if call.op is None else call.op.makes_ancestors
        if path is None or not (makes_ancestors or is_two_step):
            return UNTOUCHED
        if path == ROOT:
            return Ground(is_directory=True)
        now = self._clock()
        # A directory that was deleted elsewhere, its event on the way, is one no more. A write of two steps, which
        # nobody would follow then, asks the NameNode.
        if not is_two_step and self._cache.proves_directory(path, now):
            return Ground(is_directory=True)
        unproven = list(self._cache.unproven_ancestors(path, now)) if makes_ancestors else []
        topmost: str | None = None
        try:
            async with asyncio.timeout(self._query_timeout_s):
                if (is_two_step or self._cache.holds(path)) and await self._queries.is_directory(path):
                    return Ground(is_directory=True)
                for above in unproven:
                    # Where nothing is kept, "missing" costs one step nothing, but two for as long as they take.
                    if (is_two_step or self._cache.holds(above)) and await self._queries.exists(above):
                        break
                    topmost = above
        except Exception as error:  # noqa: BLE001 - FailToNameNode: what is not proven to exist is missing
            self.query_failures += 1
            self._complaints.warn(f"cannot tell what exists at and above {path}: {error}")
            return Ground(topmost_missing=unproven[-1] if unproven else None, is_known=False)
        return Ground(topmost_missing=topmost)
