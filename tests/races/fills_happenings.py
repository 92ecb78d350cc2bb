"""What happens to a fill, and when."""

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
from tests.races.fills_truth import parent_of
from tests.races.fills_world import World


class Moment(Enum):
    """Where the fill is held."""

    ASKED = "asked, not answered yet"
    ANSWERED = "answered, the reply is on its way"
    ASKED_WHETHER_CLOSED = "asked whether the file is closed"
    ANSWERED_WHETHER_CLOSED = "answered whether it is closed, and on its way"
    LANDED = "landed"


Happening = Callable[["World", str], None]
"""Something that happens to the path of a race."""


def change(make: Callable[[str], Change], how: str) -> Happening:
    """A change: known "at once" by its event, by the proxy's own "write", or "later"."""

    def happen(world: World, path: str) -> None:
        made = make(path)
        world.truth.change(made)
        if how == "later":
            world.unknown.append(made)
        else:
            world.tell(made, is_event=how == "at once")

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
    yield "nothing", lambda world, path: None
    yield "covered", lambda world, path: world.cover()
    yield "covered, not seen", lambda world, path: world.cache.cover(world.now, world.txid, world.now - 5)
    yield "stream lost", lambda world, path: world.lose_stream()
    yield "another is active", lambda world, path: world.lose_stream(is_other=True)
    yield "filters change", lambda world, path: world.change_filters()
    yield "gate closes", lambda world, path: world.wait(4.0)
    yield "rights expire", lambda world, path: world.wait(400.0)
    yield "two-step write begins", lambda world, path: world.begin_window(path)
    yield "two-step write of a neighbour", lambda world, path: world.begin_window(parent_of(path) + "/g")
    yield "another asks", lambda world, path: world.ask(path, "bob")
    yield "the same asks again", lambda world, path: world.ask(path, "alice")
    yield "another asks anew", lambda world, path: world.ask(path, "bob", refresh=True)
    yield "the client leaves", lambda world, path: world.leave()
    yield "the reply is lost", lambda world, path: world.fail(UpstreamCutError("race"))
    yield "a fault of ours", lambda world, path: world.fail(RuntimeError("race"))
    yield "memory is needed", lambda world, path: world.evict()


HAPPENINGS: Final = tuple(_happenings())
