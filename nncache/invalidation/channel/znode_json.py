"""What all JSON in the channel's znodes has in common.

What cannot be read whole is refused whole, and so is another `version`; keys that are not known here are ignored
(docs/releasing.md).
"""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec

from nncache.hadoop.paths import InvalidPathError
from nncache.invalidation.channel.znodes import MAX_TXID
from nncache.invalidation.errors import CorruptZnodeError

VERSION: Final = 1
"""Of the JSON in records and definitions; another one is for changes that older readers must not overlook."""

MAX_RECORD_BYTES: Final = 512 * 1024
"""Half of what ZooKeeper takes as one packet by default (jute.maxbuffer, 1 MiB); of what is larger nothing is ours."""

MAX_REASON: Final = 200
"""Characters shown of the reason why a znode is corrupt: it may quote what it holds."""


Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_TXID)]
Id: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._-]{1,128}\Z")]


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """What has a version."""

    version: int


_VERSIONED: Final = msgspec.json.Decoder(Versioned)
ENCODER: Final = msgspec.json.Encoder()

_Parsed = TypeVar("_Parsed")


def fits(data: bytes) -> bool:
    """Tell whether a record is small enough to be written."""
    return len(data) <= MAX_RECORD_BYTES


def checked(parse: Callable[[str, bytes], _Parsed]) -> Callable[[str, bytes], _Parsed]:
    """Make a parser of a znode's path and data check size and version first.

    The parser then raises CorruptZnodeError for all that it cannot read.
    """

    @wraps(parse)
    def parse_checked(path: str, data: bytes) -> _Parsed:
        if not fits(data):
            raise CorruptZnodeError(path, f"{len(data)} bytes: at most {MAX_RECORD_BYTES} are written")
        try:
            version = _VERSIONED.decode(data).version
            if version == VERSION:
                return parse(path, data)
        except (
            ValueError,  # also EventJsonError, GlobError, msgspec's own, and bytes that are not UTF-8
            InvalidPathError,
            RecursionError,  # of msgspec, for what is nested a thousand deep
        ) as exc:
            raise CorruptZnodeError(path, str(exc)[:MAX_REASON]) from exc
        raise CorruptZnodeError(path, f"version {version}: this release reads version {VERSION}; upgrade it")

    return parse_checked
