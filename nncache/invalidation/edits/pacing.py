"""When to ask the NameNode for its edits, and when to roll them.

Sans-I/O. An idle poll costs the NameNode nothing worth counting, but one that finds something reads the open
segment from its start: on Hadoop 3.5.0 3 ms at 1,000 transactions, 24 ms at 20,000, 168 ms at 150,000. So polling
keeps to a budget, and the segment is kept short by rollEdits (16 ms, after which a poll costs 0.9 ms).
"""

from nncache.invalidation.settings import PollingSettings
from nncache.net.token_bucket import TokenBucket

IDLE_COST_S = 0.0002
"""Seconds of a core that an idle poll costs the NameNode at most; the rest of its time is the network's and ours."""

MAX_COST_S = 0.5
"""A poll that took longer has waited (a collector's pause, a network), not worked; more is not charged."""

IDLE_MEMORY = 16
"""Idle polls over which it is averaged what one takes."""

PROBE_SPACING_S = 0.05
"""Seconds between two polls that were asked for by `wake`."""

SLOW_POLL_S = 0.015
"""A poll that finds something and takes longer reads about 10,000 transactions or more."""

PRESSED_DIVISOR = 10
"""By so much shorter segments are rolled while the budget is pressed."""

SPREAD_S = 10.0
"""What is left of the budget is spent over about so long: polls move apart, and each brings more."""


class PollPacer:
    """Says when the next poll is due. It outlives streams: opening one again gives no new budget."""

    def __init__(self, settings: PollingSettings, now: float) -> None:
        self._interval_s = settings.poll_interval_s
        self._share = settings.poll_budget_share
        self._burst_s = settings.poll_budget_burst_s
        # Seconds of one NameNode core.
        self.budget = TokenBucket(settings.poll_budget_share, settings.poll_budget_burst_s, now)
        self._next_at = now  # time of the next poll as far as the interval goes
        self._last_sent_at = -PROBE_SPACING_S + now  # when the last poll was sent
        self._idle_s = 0.0  # what an idle poll takes nowadays: mostly the network and the two event loops
        self.charged_s = 0.0  # all that was ever charged

    @property
    def due_at(self) -> float:
        """The time at which the next poll may be sent."""
        return max(self._next_at, self.budget.ready_at())

    def polled(self, sent_at: float, replied_at: float, *, advanced: bool, is_behind: bool) -> None:
        """Take note of an answered poll; at once again if it brought something and more is there."""
        took_s = max(0.0, replied_at - sent_at)
        cost_s = min(took_s, IDLE_COST_S)
        if advanced:
            cost_s = max(took_s - self._idle_s, cost_s)
        else:
            self._idle_s += (min(took_s, MAX_COST_S) - self._idle_s) / IDLE_MEMORY
        self.charge(cost_s, replied_at)
        self._last_sent_at = sent_at
        if advanced and is_behind:
            self._next_at = replied_at
        else:
            self._next_at = sent_at + max(self._interval_s, self._spread(cost_s, replied_at))

    def _spread(self, cost_s: float, now: float) -> float:
        """Return how far apart polls of this cost are, so that the budget ends slowly and not at once.

        What a single pause of the NameNode may be charged is no reason to wait.
        """
        left_s = self.budget.left(now)
        if left_s >= self._burst_s - MAX_COST_S:
            return 0.0
        return min(cost_s, MAX_COST_S) / (self._share + max(0.0, left_s) / SPREAD_S)

    def is_pressed(self, now: float) -> bool:
        """Whether more than half of the bucket is used up, so that polls may soon have to wait."""
        return self.budget.left(now) < self._burst_s / 2

    def charge(self, cost_s: float, now: float) -> None:
        """Charge what a call took."""
        cost_s = min(cost_s, MAX_COST_S)
        self.charged_s += cost_s
        self.budget.charge(cost_s, now)

    def wake(self, now: float) -> None:
        """Coverage is waited for: shorten the idle wait. The budget still holds."""
        self._next_at = min(self._next_at, max(now, self._last_sent_at + PROBE_SPACING_S))


class RollPolicy:
    """Says when the open segment should be closed by rollEdits. It outlives streams, too.

    While the budget is pressed, a tenth of `roll_after_txids` is enough: a roll costs as much as a few polls, and
    without it changes would be seen later. Where the segment began is known only after a roll of our own; before
    that a slow poll tells that it is long. Rolls by others (checkpoints) go unnoticed and make us roll early.
    """

    def __init__(self, settings: PollingSettings) -> None:
        self._after_txids = settings.roll_after_txids
        self._interval_s = settings.roll_interval_s
        self._asked_at: float | None = None  # time of the last rollEdits
        self._began_txid: int | None = None  # first transaction of the open segment; None while unknown
        self._slow = False  # the last poll that found something was slow
        self.is_forbidden = False  # the NameNode refuses it to this user

    def polled(self, took_s: float) -> None:
        """Take note of what a poll that found something took."""
        self._slow = took_s >= SLOW_POLL_S

    def is_due(self, through_txid: int, now: float, *, is_pressed: bool) -> bool:
        """Whether to call rollEdits now."""
        if self.is_forbidden or self._interval_s == 0:
            return False
        if self._asked_at is not None and now - self._asked_at < self._interval_s:
            return False
        if self._began_txid is None:
            return self._slow or is_pressed
        after_txids = self._after_txids // PRESSED_DIVISOR if is_pressed else self._after_txids
        return through_txid - self._began_txid >= after_txids

    def asked(self, now: float) -> None:
        """Take note that rollEdits is being called."""
        self._asked_at = now

    def rolled(self, began_txid: int) -> None:
        """Take note that a new segment begins with this transaction."""
        self._began_txid = began_txid
        self._slow = False

    def other_log(self) -> None:
        """Another incarnation is followed: where its segment begins is not known."""
        self._began_txid = None
        self._slow = False

    def forbidden(self) -> None:
        """Don't ask again."""
        self.is_forbidden = True
