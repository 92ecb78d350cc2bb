"""Decide when to poll the NameNode for edits, and when to roll them.

Sans-I/O. An idle poll costs the NameNode almost nothing, but one that finds something reads the open segment from
its start: on Hadoop 3.5.0 3 ms at 1,000 transactions, 24 ms at 20,000, 168 ms at 150,000. So polling keeps to a
budget, and rollEdits keeps the segment short (16 ms, after which a poll costs 0.9 ms).
"""

from nncache.invalidation.settings import PollingSettings
from nncache.net.token_bucket import TokenBucket

IDLE_COST_S = 0.0002
"""Maximum cost of an idle poll, in seconds of a NameNode core; the rest of its time is the network's and ours."""

MAX_COST_S = 0.5
"""Maximum charge for a poll, in seconds: a longer one was waiting (garbage collection, network), not working."""

IDLE_MEMORY = 16
"""Idle polls over which their duration is averaged."""

PROBE_SPACING_S = 0.05
"""Seconds between two polls that `wake` requested."""

SLOW_POLL_S = 0.015
"""Duration in seconds from which a poll that finds something is slow: it reads about 10,000 transactions or more."""

PRESSED_DIVISOR = 10
"""Factor by which rolled segments are shorter while the budget is pressed."""

SPREAD_S = 10.0
"""Seconds over which the rest of the budget is spent: polls move apart, and each returns more."""


class PollPacer:
    """Decides when the next poll is due. It outlasts streams, so opening one again gives no new budget."""

    def __init__(self, settings: PollingSettings, now: float) -> None:
        self._interval_s = settings.poll_interval_s
        self._share = settings.poll_budget_share
        self._burst_s = settings.poll_budget_burst_s
        # Seconds of one NameNode core.
        self.budget = TokenBucket(settings.poll_budget_share, settings.poll_budget_burst_s, now)
        self._next_at = now  # time of the next poll, by the interval alone
        self._last_sent_at = -PROBE_SPACING_S + now  # when the last poll was sent
        self._idle_s = 0.0  # mean duration of recent idle polls: mostly the network and the event loops
        self.charged_s = 0.0  # total charge since start

    @property
    def due_at(self) -> float:
        """The time at which the next poll may be sent."""
        return max(self._next_at, self.budget.ready_at())

    def polled(self, sent_at: float, replied_at: float, *, advanced: bool, is_behind: bool) -> None:
        """Record an answered poll; the next is due immediately if this one found edits and there are more."""
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
        """Return the distance in seconds between polls of this cost, so that the budget drains slowly.

        A charge that a single pause of the NameNode may cause is no reason to wait.
        """
        left_s = self.budget.left(now)
        if left_s >= self._burst_s - MAX_COST_S:
            return 0.0
        return min(cost_s, MAX_COST_S) / (self._share + max(0.0, left_s) / SPREAD_S)

    def is_pressed(self, now: float) -> bool:
        """Return whether more than half of the bucket is used up, so that polls may soon have to wait."""
        return self.budget.left(now) < self._burst_s / 2

    def charge(self, cost_s: float, now: float) -> None:
        """Charge the cost of a call."""
        cost_s = min(cost_s, MAX_COST_S)
        self.charged_s += cost_s
        self.budget.charge(cost_s, now)

    def wake(self, now: float) -> None:
        """Shorten the idle wait because coverage is requested. The budget still applies."""
        self._next_at = min(self._next_at, max(now, self._last_sent_at + PROBE_SPACING_S))


class RollPolicy:
    """Decides when rollEdits should close the open segment. It outlasts streams, too.

    While the budget is pressed, a tenth of `roll_after_txids` is enough: a roll costs as much as a few polls, and
    without it changes would be seen later. The start of the segment is known only after a roll of our own; before that,
    a slow poll shows that it is long. Rolls by others (checkpoints) go unnoticed and make us roll early.
    """

    def __init__(self, settings: PollingSettings) -> None:
        self._after_txids = settings.roll_after_txids
        self._interval_s = settings.roll_interval_s
        self._asked_at: float | None = None  # time of the last rollEdits
        self._began_txid: int | None = None  # first transaction of the open segment; None while unknown
        self._slow = False  # the last poll that found something was slow
        self.is_forbidden = False  # the NameNode refuses rollEdits to this user

    def polled(self, took_s: float) -> None:
        """Record the duration of a poll that found something."""
        self._slow = took_s >= SLOW_POLL_S

    def is_due(self, through_txid: int, now: float, *, is_pressed: bool) -> bool:
        """Return whether to call rollEdits now."""
        if self.is_forbidden or self._interval_s == 0:
            return False
        if self._asked_at is not None and now - self._asked_at < self._interval_s:
            return False
        if self._began_txid is None:
            return self._slow or is_pressed
        after_txids = self._after_txids // PRESSED_DIVISOR if is_pressed else self._after_txids
        return through_txid - self._began_txid >= after_txids

    def asked(self, now: float) -> None:
        """Record a call of rollEdits."""
        self._asked_at = now

    def rolled(self, began_txid: int) -> None:
        """Record that a new segment begins with this transaction."""
        self._began_txid = began_txid
        self._slow = False

    def other_log(self) -> None:
        """Record that another incarnation is followed: the start of its segment is unknown."""
        self._began_txid = None
        self._slow = False

    def forbidden(self) -> None:
        """Stop calling rollEdits."""
        self.is_forbidden = True
