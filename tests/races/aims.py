"""Which stand a race is held at: all of them are aimed at in turn."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from nncache.coordination.errors import ConnectionLostError
from nncache.hadoop.errors import JmxUnavailableError, RemoteCallError, RpcUnavailableError
from nncache.hadoop.remote_exception import RemoteException
from tests.races.exemptions import OFF_THE_PATH
from tests.races.steering import Arrival, FakeCluster, Hold, Throw, Verdict

_EXPLORED_SHARE: Final = 0.15
"""Of the races that are held anywhere, so that stands that nobody knows are found."""

_ASKING_SHARE: Final = 0.4
"""Of the reads: the question itself is held, so that its reply comes late; there are few such stands among all."""

_UNHELD_SHARE: Final = 0.3
"""Of the others, a stand that no race was held at yet: some are reached so seldom that their turn alone may not do."""

_FURTHEST: Final = 12
"""Arrivals counted when a race is held anywhere."""

_ANY: Final[tuple[Callable[[str], Exception], ...]] = (RuntimeError, ConnectionResetError, TimeoutError)

_NO_ERRORS: Final = frozenset({"self._connecting", "self._filter_lock"})
"""asyncio's own locks: waiting for one raises nothing, and they would not survive it."""


def may_be_cancelled(fake_cluster: FakeCluster) -> bool:
    """Whether anybody cancels a task that waits there.

    Of a connection's own task that waits for a request, or for the rest of one that is answered, only its shutdown is
    cancelled, and then everything is closed.
    """
    return fake_cluster.innermost.module != "proxy.clients.one_task"


def error_at(fake_cluster: FakeCluster, chance: random.Random) -> Exception | None:
    """Return an error such as whatever is waited for there can raise, or a fault of ours; None: none can."""
    innermost = fake_cluster.innermost
    if not may_be_cancelled(fake_cluster) or innermost.text in _NO_ERRORS:
        return None
    text = "thrown by a race"
    fitting: Exception
    match innermost.module.split("."):
        case ["hadoop", "rpc", *_] | ["proxy", "upstream", "queries"]:
            fitting = RpcUnavailableError(text, is_sent=True)
        case ["invalidation", "channel" | "follower", *_]:
            fitting = ConnectionLostError(text)
        case ["hadoop", *_]:
            fitting = JmxUnavailableError(text)
        case ["proxy", "upstream", "exchange" | "pool"] | ["proxy", "clients", "response"]:
            fitting = ConnectionResetError(text)
        case _:
            return chance.choice(_ANY)(text)
    return fitting if chance.random() < 0.7 else chance.choice(_ANY)(text)


def is_off_the_path(fake_cluster: FakeCluster) -> bool:
    """Whether no race is held there, for a reason that `tests/races/exemptions.py` gives."""
    return fake_cluster.innermost.key in OFF_THE_PATH


def refusal() -> RemoteCallError:
    """Return what a NameNode says to whoever may not know."""
    remote = RemoteException(
        "AccessControlException", "org.apache.hadoop.security.AccessControlException", "thrown by a race"
    )
    return RemoteCallError(remote, address="namenode", method="isFileClosed", user="somebody")


@dataclass(slots=True)
class Book:
    """What is known of the stands of one kind of errand.

    Attributes:
        known: how often each was seen.
        held: how often a race was held there.
        tried: how often one was aimed at.
    """

    known: Counter[FakeCluster] = field(default_factory=Counter)
    held: Counter[FakeCluster] = field(default_factory=Counter)
    tried: Counter[FakeCluster] = field(default_factory=Counter)

    def choose(self, chance: random.Random) -> FakeCluster | None:
        """Return a stand that was aimed at least; None: hold it anywhere."""
        if not self.known or chance.random() < _EXPLORED_SHARE:
            return None
        asking = [
            fake_cluster for fake_cluster in self.known if fake_cluster.places[0].qualname == "Flights._run"
        ]
        if asking and chance.random() < _ASKING_SHARE:
            return chance.choice(asking)
        stands = list(self.known)
        if chance.random() < _UNHELD_SHARE:
            unheld = [
                fake_cluster
                for fake_cluster in stands
                if not self.held[fake_cluster] and not is_off_the_path(fake_cluster)
            ]
            stands = unheld or stands
        return min(
            stands,
            key=lambda fake_cluster: (
                self.held[fake_cluster] * 4 + self.tried[fake_cluster],
                chance.random(),
            ),
        )

    def is_rare(self, fake_cluster: FakeCluster) -> bool:
        """Whether aiming at it is mostly in vain: something has to go wrong before anybody stands there."""
        return self.tried[fake_cluster] > 2 * self.held[fake_cluster]


class Aim:
    """Where one race is to be held: at a given place, or at its nth arrival.

    It may stumble on its way there: something fails before, so that stands behind a failure are reached, too.
    """

    def __init__(
        self,
        book: Book,
        chance: random.Random,
        *,
        is_one_task: bool = False,
        is_refused: bool = False,
        only: frozenset[str] = frozenset(),
        trips_at: str = "",
    ) -> None:
        self.hold = Hold()
        self._is_one_task = is_one_task  # it stumbles only in a task like the one that is aimed at
        self._is_refused = is_refused  # isFileClosed is, the first time
        self._only = only  # what it must wait for, if anything in particular: "QUALNAME: CALLEE"
        self._trips_at = trips_at  # where an error is thrown the first time, "QUALNAME: CALLEE"
        self._book = book
        self._chance = chance
        self.fake_cluster = None if only else book.choose(chance)
        self._countdown = chance.randrange(_FURTHEST)
        is_rare = self.fake_cluster is not None and book.is_rare(self.fake_cluster)
        stumbling_share = 0.6 if is_rare else 0.3 if only else 0.05
        self._stumbles_in = chance.randrange(1, 8) if chance.random() < stumbling_share else -1
        self.has_stumbled = False
        if self.fake_cluster is not None:
            book.tried[self.fake_cluster] += 1

    def meets(self, arrival: Arrival) -> Verdict:
        """Return the hold if this is where the race is to be held; at most once."""
        fake_cluster = arrival.fake_cluster
        self._book.known[fake_cluster] += 1
        if self.hold.is_over or self.hold.reached.done():
            return None
        if self._is_wanted(fake_cluster) and not is_off_the_path(fake_cluster):
            self._book.held[fake_cluster] += 1
            return self.hold
        self._countdown -= 1
        return self._stumble(fake_cluster)

    def _is_wanted(self, fake_cluster: FakeCluster) -> bool:
        if self._only:
            return any(place.in_function in self._only for place in fake_cluster.places)
        if not self._book.held[fake_cluster]:
            return True  # who knows when the next will come
        return self._countdown <= 0 if self.fake_cluster is None else fake_cluster is self.fake_cluster

    def _stumble(self, fake_cluster: FakeCluster) -> Throw | None:
        self._stumbles_in -= self._is_on_the_way(fake_cluster)
        error: Exception | None = None
        if self._is_refused and any(
            place.qualname == "PoolQueries.is_file_closed" for place in fake_cluster.places
        ):
            self._is_refused = False
            error = refusal()
        elif any(place.in_function == self._trips_at for place in fake_cluster.places):
            self._trips_at = ""
            error = error_at(fake_cluster, self._chance)
        elif self._stumbles_in == 0 and not self.has_stumbled:
            error = error_at(fake_cluster, self._chance)
        if error is None:
            return None
        self.has_stumbled = True
        return Throw(error)

    def _is_on_the_way(self, fake_cluster: FakeCluster) -> bool:
        if not self._is_one_task or self.fake_cluster is None:
            return True
        return fake_cluster.places[0].qualname == self.fake_cluster.places[0].qualname


class Errand:
    """The label of all tasks that work for one client connection, or of those that work for nobody."""

    def __init__(self) -> None:
        self.aims: list[Aim] = []

    def arrive(self, arrival: Arrival) -> Verdict:
        """Decide for the steering."""
        for aim in self.aims:
            verdict = aim.meets(arrival)
            if verdict is not None:
                return verdict
        return None
