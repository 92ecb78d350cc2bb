"""The choice of the wait point at which a race is held: each is aimed at in turn."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from nncache.coordination.errors import ConnectionLostError
from nncache.hadoop.errors import JmxUnavailableError, RemoteCallError, RpcUnavailableError
from nncache.hadoop.remote_exception import RemoteException
from tests.races.exemptions import OFF_THE_PATH
from tests.races.steering import Arrival, Hold, Throw, Verdict, WaitPoint

_EXPLORED_SHARE: Final = 0.15
"""The share of races that are held at any wait point, to find unknown ones."""

_ASKING_SHARE: Final = 0.4
"""The share of reads held in the call itself, so that its reply is late: few wait points are in it."""

_UNHELD_SHARE: Final = 0.3
"""The share of the others aimed at a wait point that never held a race: some are reached very rarely."""

_FURTHEST: Final = 12
"""The maximum number of arrivals to pass before a race without an aim is held."""

_ANY: Final[tuple[Callable[[str], Exception], ...]] = (RuntimeError, ConnectionResetError, TimeoutError)

_NO_ERRORS: Final = frozenset({"self._connecting", "self._filter_lock"})
"""asyncio's own locks: a wait for one raises no error, and they would not survive one."""


def error_at(wait_point: WaitPoint, chance: random.Random) -> Exception | None:
    """Return an error that a wait there can raise, or a fault of the proxy; None if none can occur."""
    innermost = wait_point.innermost
    if innermost.text in _NO_ERRORS:
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
        case ["proxy", "upstream", "exchange" | "pool"] | ["proxy", "clients", "connection"]:
            fitting = ConnectionResetError(text)
        case _:
            return chance.choice(_ANY)(text)
    return fitting if chance.random() < 0.7 else chance.choice(_ANY)(text)


def is_off_the_path(wait_point: WaitPoint) -> bool:
    """Whether no race is held there, for a reason in `off_the_path.txt`."""
    return wait_point.innermost.key in OFF_THE_PATH


def refusal() -> RemoteCallError:
    """Return a NameNode's reply to a user without the right."""
    remote = RemoteException(
        "AccessControlException", "org.apache.hadoop.security.AccessControlException", "thrown by a race"
    )
    return RemoteCallError(remote, address="namenode", method="isFileClosed", user="somebody")


@dataclass(slots=True)
class Book:
    """The wait points of one kind of errand.

    Attributes:
        known: arrivals at each.
        held: races held at each.
        tried: races aimed at each.
    """

    known: Counter[WaitPoint] = field(default_factory=Counter)
    held: Counter[WaitPoint] = field(default_factory=Counter)
    tried: Counter[WaitPoint] = field(default_factory=Counter)

    def choose(self, chance: random.Random) -> WaitPoint | None:
        """Return the wait point with the fewest aims; None: hold the race at any."""
        if not self.known or chance.random() < _EXPLORED_SHARE:
            return None
        asking = [wait_point for wait_point in self.known if wait_point.places[0].qualname == "Flights._run"]
        if asking and chance.random() < _ASKING_SHARE:
            return chance.choice(asking)
        candidates = list(self.known)
        if chance.random() < _UNHELD_SHARE:
            unheld = [
                wait_point
                for wait_point in candidates
                if not self.held[wait_point] and not is_off_the_path(wait_point)
            ]
            candidates = unheld or candidates
        return min(
            candidates,
            key=lambda wait_point: (self.held[wait_point] * 4 + self.tried[wait_point], chance.random()),
        )

    def is_rare(self, wait_point: WaitPoint) -> bool:
        """Whether most aims at it fail: a task waits there only after a fault."""
        return self.tried[wait_point] > 2 * self.held[wait_point]


class Aim:
    """Where one race is to be held: at a given place, or at its nth arrival.

    The task may stumble on its way: an error is thrown earlier, to reach wait points after a failure as well.
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
        self._is_one_task = is_one_task  # it stumbles only in a task like the target's
        self._is_refused = is_refused  # isFileClosed is refused the first time
        self._only = only  # "QUALNAME: CALLEE" of the waits that count; empty: all
        self._trips_at = trips_at  # "QUALNAME: CALLEE" of the wait where an error is thrown the first time
        self._book = book
        self._chance = chance
        self.wait_point = None if only else book.choose(chance)
        self._countdown = chance.randrange(_FURTHEST)
        is_rare = self.wait_point is not None and book.is_rare(self.wait_point)
        stumbling_share = 0.6 if is_rare else 0.3 if only else 0.05
        self._stumbles_in = chance.randrange(1, 8) if chance.random() < stumbling_share else -1
        self.has_stumbled = False
        if self.wait_point is not None:
            book.tried[self.wait_point] += 1

    def meets(self, arrival: Arrival) -> Verdict:
        """Return the hold if the race is to be held at this arrival; at most once."""
        wait_point = arrival.wait_point
        self._book.known[wait_point] += 1
        if self.hold.is_over or self.hold.reached.done():
            return None
        if self._is_wanted(wait_point) and not is_off_the_path(wait_point):
            self._book.held[wait_point] += 1
            return self.hold
        self._countdown -= 1
        return self._stumble(wait_point)

    def _is_wanted(self, wait_point: WaitPoint) -> bool:
        if self._only:
            return any(place.in_function in self._only for place in wait_point.places)
        if not self._book.held[wait_point]:
            return True  # the next arrival may be far away
        return self._countdown <= 0 if self.wait_point is None else wait_point is self.wait_point

    def _stumble(self, wait_point: WaitPoint) -> Throw | None:
        self._stumbles_in -= self._is_on_the_way(wait_point)
        error: Exception | None = None
        if self._is_refused and any(
            place.qualname == "PoolQueries.is_file_closed" for place in wait_point.places
        ):
            self._is_refused = False
            error = refusal()
        elif any(place.in_function == self._trips_at for place in wait_point.places):
            self._trips_at = ""
            error = error_at(wait_point, self._chance)
        elif self._stumbles_in == 0 and not self.has_stumbled:
            error = error_at(wait_point, self._chance)
        if error is None:
            return None
        self.has_stumbled = True
        return Throw(error)

    def _is_on_the_way(self, wait_point: WaitPoint) -> bool:
        if not self._is_one_task or self.wait_point is None:
            return True
        return wait_point.places[0].qualname == self.wait_point.places[0].qualname


class Errand:
    """The label of all tasks of one client connection, or of all tasks of no client."""

    def __init__(self) -> None:
        self.aims: list[Aim] = []

    def arrive(self, arrival: Arrival) -> Verdict:
        """Return the steering's verdict on an arrival."""
        for aim in self.aims:
            verdict = aim.meets(arrival)
            if verdict is not None:
                return verdict
        return None
