"""All systematic races of the model: the clients' calls, the state before, and what happens during a hold."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from nncache.hadoop.errors import RpcUnavailableError
from nncache.proxy.errors import UpstreamCutError
from tests.model.system import ModelSystem
from tests.model.waiting import wait
from tests.model.writes import (
    APPEND,
    CREATE,
    TwoSteps,
    Write,
    chmod,
    delete,
    mkdirs,
    rename,
    set_policy,
    touch,
)
from tests.races.model_changes import (
    APPEND_REFUSED,
    BEHIND,
    CHANGES,
    CREATE_UNNAMED,
    Make,
    append,
    behind,
    redirected,
    through,
)
from tests.races.model_ground import USERS, Lane
from tests.races.model_troubles import TROUBLES, Trouble
from tests.races.steering import CANCEL, LABEL, Cancel, Throw

Client: TypeAlias = Coroutine[Any, Any, Any]


# -- the held calls ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Errand:
    """The calls of clients that a race holds.

    Attributes:
        on: the kind of path that it uses.
        clients: the clients' calls.
        is_read: all calls are reads.
    """

    name: str
    on: str
    clients: Callable[[ModelSystem, str], tuple[Client, ...]]
    is_read: bool = False


async def _see(system: ModelSystem, path: str) -> None:
    """Read one's own write, without the race's label."""
    LABEL.set(None)
    await system.read(path, USERS[0])


async def _write(system: ModelSystem, write: Write, path: str) -> None:
    await through(system, (write,))
    await _see(system, path)


async def _write_in_two_steps(kind: TwoSteps, system: ModelSystem, path: str) -> None:
    await system.write_in_two_steps(kind, path, takes_s=_TWO_STEPS_TAKE_S)
    await _see(system, path)


def _reads(
    system: ModelSystem, path: str, *, users: tuple[str, ...], refresh: bool = False
) -> tuple[Client, ...]:
    return tuple(system.read(path, user, refresh=refresh) for user in users)


def _waits(
    system: ModelSystem, path: str, *, users: tuple[str, ...], for_another: bool, is_kept: bool
) -> tuple[Client, ...]:
    return tuple(
        wait(system, path, user, _WAIT_S, for_another=for_another, is_kept=is_kept) for user in users
    )


def _writes(make: Callable[[str], Write], system: ModelSystem, path: str) -> tuple[Client, ...]:
    return (_write(system, make(path), path),)


def _two_steps(kind: TwoSteps, system: ModelSystem, path: str) -> tuple[Client, ...]:
    return (_write_in_two_steps(kind, system, path),)


def _take_in(path: str) -> Write:
    """Rename a lane's other directory into this one."""
    return rename(f"{path.rpartition('/')[0]}/e", path)


_READERS: Final[Mapping[str, tuple[tuple[str, ...], bool]]] = {
    "read": (("alice",), False),
    "read as another": (("bob",), False),
    "refresh": (("alice",), True),
    "herd": (("alice", "bob", "alice", "bob"), False),
    "read beside a refresh": (("bob", "alice"), False),
}

_WAIT_S: Final = 1
_TWO_STEPS_TAKE_S: Final = 0.002

ERRANDS: Final = (
    *(
        Errand(f"{name} {kind}", kind, partial(_reads, users=users, refresh=refresh), is_read=True)
        for name, (users, refresh) in _READERS.items()
        for kind in ("file", "missing", "directory", "deep")
    ),
    *(
        Errand(
            f"wait for {what}{', kept' * is_kept}",
            kind,
            partial(_waits, users=users, for_another=what != "it", is_kept=is_kept),
            is_read=True,
        )
        for what, kind, users in (
            ("it", "missing", ("alice",)),
            ("it", "deep", ("alice", "bob", "alice")),
            ("another status", "file", ("alice", "bob", "alice")),
        )
        for is_kept in (False, True)
    ),
    Errand("delete", "file", partial(_writes, delete)),
    Errand("touch", "file", partial(_writes, touch)),
    Errand("rename", "file", partial(_writes, lambda path: rename(path, f"{path}w"))),
    Errand("rename into a directory", "directory", partial(_writes, _take_in)),
    Errand("mkdirs", "missing", partial(_writes, mkdirs)),
    Errand("mkdirs deep", "deep", partial(_writes, mkdirs)),
    Errand("mkdirs there", "directory", partial(_writes, mkdirs)),
    Errand("chmod", "directory", partial(_writes, lambda path: chmod(path, 0o700))),
    Errand("delete directory", "directory", partial(_writes, delete)),
    Errand("policy", "directory", partial(_writes, set_policy)),
    Errand("create", "missing", partial(_two_steps, CREATE)),
    Errand("create deep", "deep", partial(_two_steps, CREATE)),
    Errand("create unnamed", "missing", partial(_two_steps, CREATE_UNNAMED)),
    Errand("overwrite", "file", partial(_two_steps, CREATE)),
    Errand("append", "file", partial(_two_steps, APPEND)),
    Errand("append refused", "file", partial(_two_steps, APPEND_REFUSED)),
    Errand("create a directory", "directory", partial(_two_steps, CREATE)),
)


Clients: TypeAlias = Callable[[ModelSystem, Lane, str], tuple[Client, ...]]

# -- the state before ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """The state before a race.

    Attributes:
        first: changes behind the proxy's back, applied.
        covered: reads and writes through the proxy, followed by coverage of all earlier changes.
        fresh: reads and writes through the proxy without coverage after them.
        beside: reads and writes that are in flight when the race starts.
        is_gate_closed: coverage is so old that the gate is closed.
        is_silent: the proxy's own queries get no answer for a while.
        is_refused: the proxy's own queries get an error for a while.
    """

    name: str
    first: Make | None = None
    covered: Clients | None = None
    fresh: Clients | None = None
    beside: Clients | None = None
    is_gate_closed: bool = False
    is_silent: bool = False
    is_refused: bool = False

    @property
    def is_for_all(self) -> bool:
        """Whether all lanes of a round start in this state."""
        return self.is_gate_closed or self.is_silent or self.is_refused


def _alice(system: ModelSystem, _: Lane, path: str) -> tuple[Client, ...]:
    return (system.read(path, "alice"),)


def _bob(system: ModelSystem, _: Lane, path: str) -> tuple[Client, ...]:
    return (system.read(path, "bob"),)


def _refreshing(system: ModelSystem, _: Lane, path: str) -> tuple[Client, ...]:
    return (system.read(path, "alice", refresh=True),)


def _siblings(system: ModelSystem, _: Lane, path: str) -> tuple[Client, ...]:
    return tuple(system.read(f"{path.rpartition('/')[0]}/g", user) for user in USERS)


def _redirected(kind: TwoSteps, system: ModelSystem, _: Lane, path: str) -> tuple[Client, ...]:
    return (redirected(kind, system, path),)


STARTS: Final = (
    Start("nothing known"),
    Start("known", covered=_alice),
    Start("known, not covered", fresh=_alice),
    Start("another's", covered=_bob),
    Start("another's, not covered", covered=_siblings, fresh=_bob),
    Start("grants only", covered=_siblings),
    Start("another's question under way", covered=_siblings, beside=_bob),
    Start("own question under way", beside=_alice),
    Start("a refresh under way", covered=_alice, beside=_refreshing),
    Start("a created window", covered=_alice, fresh=partial(_redirected, CREATE)),
    Start("an appended window", covered=_siblings, fresh=partial(_redirected, APPEND)),
    Start("open for writing", first=lambda _, path: (append(path),), covered=_siblings),
    Start("not for all", first=lambda lane, _: (chmod(lane.top, 0o700),), covered=_alice),
    Start("gate closed", covered=_alice, is_gate_closed=True),
    Start("questions unanswered", covered=_alice, is_silent=True),
    Start("questions refused", covered=_alice, is_refused=True),
)


# -- during the hold -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What happens while a task is held.

    Attributes:
        at_once: done at the very place; returns whether it had an effect.
        then: done while the task stays there.
        is_covered: the task stays until all changes are applied.
        verdict: the fate of the task.
        client_leaves: the first of the clients hangs up.
        trouble: a fault that affects all lanes.
    """

    name: str
    at_once: Callable[[ModelSystem, Lane, str], bool] | None = None
    then: Callable[[ModelSystem, Lane, str], Client] | None = None
    is_covered: bool = False
    verdict: Callable[[], Throw | Cancel] | None = None
    client_leaves: bool = False
    trouble: Trouble | None = None

    @property
    def holds(self) -> bool:
        """Whether the task stays there for a while."""
        return self.is_covered or self.then is not None or self.trouble is not None


def _behind(make: Make, system: ModelSystem, lane: Lane, path: str) -> bool:
    return behind(system, make(lane, path))


async def _through(make: Make, system: ModelSystem, lane: Lane, path: str) -> None:
    LABEL.set(None)
    await through(system, make(lane, path))
    await _see(system, path)


async def _in_two_steps(kind: TwoSteps, system: ModelSystem, _: Lane, path: str) -> None:
    LABEL.set(None)
    await system.write_in_two_steps(kind, path, takes_s=_TWO_STEPS_TAKE_S)
    await _see(system, path)


async def _redirect(kind: TwoSteps, system: ModelSystem, _: Lane, path: str) -> None:
    LABEL.set(None)
    await redirected(kind, system, path)


async def _ask(users: tuple[str, ...], refresh: bool, system: ModelSystem, _: Lane, path: str) -> None:
    LABEL.set(None)
    async with asyncio.TaskGroup() as tasks:
        for user in users:
            tasks.create_task(system.read(path, user, refresh=refresh))


ERRORS: Final[Mapping[str, Callable[[], Throw]]] = {
    "cut off": lambda: Throw(UpstreamCutError("thrown in")),
    "rpc unavailable": lambda: Throw(RpcUnavailableError("thrown in", is_sent=True)),
    "timeout": lambda: Throw(TimeoutError("thrown in")),
    "fault of ours": lambda: Throw(RuntimeError("thrown in")),
}
"""None of them claims that the request was not sent: that would be false."""


def _cancel() -> Cancel:
    return CANCEL


MEANWHILES: Final = (
    *(
        Meanwhile(
            name if not is_covered else f"{name}, applied", partial(_behind, make), is_covered=is_covered
        )
        for name, make in BEHIND.items()
        for is_covered in (False, True)
    ),
    *(Meanwhile(f"{name}, by us", then=partial(_through, make)) for name, make in CHANGES.items()),
    Meanwhile("create, by us", then=partial(_in_two_steps, CREATE)),
    Meanwhile("append, by us", then=partial(_in_two_steps, APPEND)),
    Meanwhile("create begun, by us", then=partial(_redirect, CREATE)),
    Meanwhile("append begun, by us", then=partial(_redirect, APPEND)),
    Meanwhile("another asks", then=partial(_ask, ("bob",), False)),
    Meanwhile("both ask", then=partial(_ask, ("alice", "bob"), False)),
    Meanwhile("a refresh", then=partial(_ask, ("alice",), True)),
    Meanwhile("coverage", is_covered=True),
    Meanwhile("the client leaves", client_leaves=True),
    Meanwhile("the client leaves, and coverage", client_leaves=True, is_covered=True),
    Meanwhile("cancelled", verdict=_cancel),
    Meanwhile("cancelled, and touch", partial(_behind, BEHIND["touch"]), verdict=_cancel),
    *(Meanwhile(name, verdict=throw) for name, throw in ERRORS.items()),
    *(
        Meanwhile(f"{name}, and touch", partial(_behind, BEHIND["touch"]), verdict=throw)
        for name, throw in ERRORS.items()
    ),
)

TROUBLED: Final = tuple(
    Meanwhile(name if not is_covered else f"{name}, over", trouble=trouble, is_covered=is_covered)
    for name, trouble in TROUBLES.items()
    for is_covered in (False, True)
)
"""All lanes of a round have the same trouble."""


@dataclass(frozen=True, slots=True)
class Race:
    """One race.

    Attributes:
        step: the step of the errand at which it is held; the steps of all its tasks are counted together.
    """

    errand: Errand
    start: Start
    meanwhile: Meanwhile
    step: int

    def __str__(self) -> str:
        return f"{self.errand.name} from '{self.start.name}', step {self.step}, '{self.meanwhile.name}'"
