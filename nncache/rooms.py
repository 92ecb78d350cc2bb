"""Refuse to run with somebody else's package under one of our import names. (nncache/rooms.py)

The rooms have common words as names, and other distributions install some of them:
docs/decisions/0001-flat-import-names.md.
A foreign `proxy` must end the start with a line that says so, not with an ImportError or, worse, without one.
"""

import importlib.util
from pathlib import Path

import nncache
from nncache.errors import ForeignRoomError

ROOMS = ("hadoop", "coordination", "cache", "invalidation", "proxy")
"""What every command imports. Not `testbed` and `demo`: a proxy runs without them."""


def check_rooms(rooms: tuple[str, ...] = ROOMS, home: Path | None = None) -> None:
    """See that each room lies beside `nncache` itself; imports none of them.

    Raises:
        ForeignRoomError: one that does not, or that is not there; names both places.
    """
    ours = (Path(nncache.__file__).parent.parent if home is None else home).resolve()
    for room in rooms:
        spec = importlib.util.find_spec(room)
        origin = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        if origin is None:
            raise ForeignRoomError(f"the package {room} is missing; it should be {ours / room}")
        if origin.parent != ours / room:
            raise ForeignRoomError(
                f"the import name {room} leads to {origin}, which is not part of nncache ({ours}): "
                "install nncache into an environment of its own"
            )
