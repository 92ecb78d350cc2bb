"""Which source of edits is read: the JournalNodes where they can be read, else the NameNode."""

import logging
from collections.abc import Callable
from dataclasses import replace

from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits.source import EditsRead, EditsSource
from nncache.invalidation.errors import ChannelUnavailableError, GapKind, MissingEventsError
from nncache.invalidation.journal.access import JournalAccess
from nncache.invalidation.journal.source import JournalEdits
from nncache.invalidation.namenodes import NameNodes
from nncache.invalidation.settings import AUTO, JOURNALNODES, EditsSettings, PollingSettings
from nncache.invalidation.stats import ChannelStats

_log = logging.getLogger(__name__)


class AutoEdits:
    """The JournalNodes' edits in each run that they can serve, else the NameNode's; an `EditsSource`.

    The choice is made when a run begins, and again when one has ended. A run on the NameNode goes on for as long as it
    can: it ends with a failover, or when the process does.
    """

    def __init__(self, journal: JournalEdits, polled: PolledEdits) -> None:
        self._journal = journal
        self._polled = polled
        self._source: EditsSource = polled  # of the run
        self._why_not = ""  # why the run is not one of the JournalNodes; "" if it is, or is none
        self._said = ""  # the last log line about the choice: the same is said once

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return self._source.term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run of the better source that can be read; raises what the other raises."""
        self.stop()
        try:
            await self._journal.start(after_txid)
        except MissingEventsError as exc:
            if exc.kind is not GapKind.PURGED:
                raise
            reason = str(exc)
        except ChannelUnavailableError as exc:
            reason = str(exc)
        else:
            self._source, self._why_not = self._journal, ""
            self._say("edits are read from the JournalNodes")
            return
        self._source = self._polled
        await self._polled.start(after_txid)
        self._why_not = reason
        self._say(f"edits are read from the NameNode (inotify) and not from the JournalNodes: {reason}")

    def stop(self) -> None:
        """End the run; without one do nothing."""
        self._source.stop()
        self._why_not = ""

    async def shut_down(self) -> None:
        """Give up what outlasts the runs."""
        await self._journal.shut_down()
        await self._polled.shut_down()

    async def read(self) -> EditsRead:
        """Return what comes next; see the source of the run."""
        return await self._source.read()

    def wake(self) -> None:
        """Ask for the next `read` to return soon."""
        self._source.wake()

    def stats(self) -> ChannelStats:
        """Return the figures of both sources, each over all runs."""
        return replace(
            self._polled.stats(),
            source=self._source.stats().source,
            passed_over={JOURNALNODES: self._why_not} if self._why_not else {},
            journal=self._journal.stats().journal,
        )

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            _log.info("%s", text)


def edits_of(
    namenodes: NameNodes,
    settings: EditsSettings,
    polling: PollingSettings,
    access: JournalAccess | None,
    clock: Callable[[], float],
    *,
    at_first_sight: bool,
) -> EditsSource:
    """Return the source of edits that the settings name; see `JournalEdits` for `at_first_sight`."""
    polled = PolledEdits(namenodes, polling, clock)
    if access is None or settings.edits_source not in {AUTO, JOURNALNODES}:
        if settings.edits_source == AUTO:
            _log.info(
                "edits are read from the NameNode (inotify): no JournalNodes are known, see shared_edits_dir"
            )
        return polled
    journal = JournalEdits(namenodes, access, clock, at_first_sight=at_first_sight)
    return journal if settings.edits_source == JOURNALNODES else AutoEdits(journal, polled)
