"""The events during a fill, and their moments."""

import itertools
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.proxy.errors import UpstreamCutError
from tests.model.footprints import parent_of
from tests.races.fills_simulation import Simulation


class Moment(Enum):
    """The moment at which the fill is held."""

    ASKED = "asked, not answered yet"
    ANSWERED = "answered, the reply is on its way"
    ASKED_WHETHER_CLOSED = "asked whether the file is closed"
    ANSWERED_WHETHER_CLOSED = "answered whether it is closed, and on its way"
    LANDED = "landed"


Happening = Callable[["Simulation", str], None]
"""An event that concerns the path of a race."""


def change(make: Callable[[str], Change], how: str) -> Happening:
    """Return a change: known "at once" by its event, by the proxy's own "write", or "later"."""

    def happen(simulation: Simulation, path: str) -> None:
        made = make(path)
        simulation.truth.change(made)
        if how == "later":
            simulation.unknown.append(made)
        else:
            simulation.tell(made, is_event=how == "at once")

    return happen


_TARGETS: Final[dict[str, Callable[[str], str]]] = {
    "it": lambda path: path,
    "its directory": parent_of,
    "what is above that": lambda path: parent_of(parent_of(path)),
    "its neighbour": lambda path: parent_of(path) + "/g",
    "what is below it": lambda path: path + "/x",
}
_ONE_PATH: Final = (Appeared, Vanished, Touched, Opened, Closed, AccessChanged, SubtreeUnknown)


def _happenings() -> Iterator[tuple[str, Happening]]:
    for (where, target), kind, how in itertools.product(
        _TARGETS.items(), _ONE_PATH, ("at once", "write", "later")
    ):
        yield (
            f"{kind.__name__} {where}, known {how}",
            change(
                lambda path, kind=kind, target=target: kind(target(path)),  # type: ignore[misc]  # mypy sees no default
                how,
            ),
        )
    for how in ("at once", "write", "later"):
        yield f"moved away, known {how}", change(lambda path: Moved(path, path + "2"), how)
        yield f"moved here, known {how}", change(lambda path: Moved(path + "2", path), how)
        yield (
            f"its directory moved away, known {how}",
            change(lambda path: Moved(parent_of(path), "/away"), how),
        )
    yield "all unknown", change(lambda _: EverythingUnknown("race"), "at once")
    yield "nothing", lambda simulation, path: None
    yield "covered", lambda simulation, path: simulation.cover()
    yield (
        "covered, not seen",
        lambda simulation, path: simulation.cache.cover(simulation.now, simulation.txid, simulation.now - 5),
    )
    yield "stream lost", lambda simulation, path: simulation.lose_stream()
    yield "another is active", lambda simulation, path: simulation.lose_stream(is_other=True)
    yield "filters change", lambda simulation, path: simulation.change_filters()
    yield "gate closes", lambda simulation, path: simulation.wait(4.0)
    yield "rights expire", lambda simulation, path: simulation.wait(400.0)
    yield "two-step write begins", lambda simulation, path: simulation.begin_window(path)
    yield (
        "two-step write of a neighbour",
        lambda simulation, path: simulation.begin_window(parent_of(path) + "/g"),
    )
    yield "another asks", lambda simulation, path: simulation.ask(path, "bob")
    yield "the same asks again", lambda simulation, path: simulation.ask(path, "alice")
    yield "another asks anew", lambda simulation, path: simulation.ask(path, "bob", refresh=True)
    yield "the client leaves", lambda simulation, path: simulation.leave()
    yield "the reply is lost", lambda simulation, path: simulation.fail(UpstreamCutError("race"))
    yield "a fault of ours", lambda simulation, path: simulation.fail(RuntimeError("race"))
    yield "memory is needed", lambda simulation, path: simulation.evict()


HAPPENINGS: Final = tuple(_happenings())
