"""The common parts of all JSON in the channel's znodes.

Data that is partly unreadable, or has another `version`, is rejected; unknown keys are ignored (docs/releasing.md).
"""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec

from nncache.hadoop.paths import InvalidPathError
from nncache.invalidation.channel.znodes import MAX_TXID
from nncache.invalidation.errors import CorruptZnodeError

VERSION: Final = 1
"""The version of records and definitions; a new one is for changes that older readers must not ignore."""

MAX_RECORD_BYTES: Final = 512 * 1024
"""Half of ZooKeeper's default packet limit (jute.maxbuffer, 1 MiB); no larger znode is ours."""

MAX_REASON: Final = 200
"""Characters shown of the reason why a znode is corrupt: it may quote the znode's data."""


Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_TXID)]
Id: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._-]{1,128}\Z")]


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """A structure with a version."""

    version: int


_VERSIONED: Final = msgspec.json.Decoder(Versioned)
ENCODER: Final = msgspec.json.Encoder()

_Parsed = TypeVar("_Parsed")


def fits(data: bytes) -> bool:
    """Return whether a record is small enough to be written."""
    return len(data) <= MAX_RECORD_BYTES


def checked(parse: Callable[[str, bytes], _Parsed]) -> Callable[[str, bytes], _Parsed]:
    """Make a parser of a znode's path and data check size and version first.

    The parser then raises CorruptZnodeError for everything that it cannot read.
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
            ValueError,  # includes EventJsonError, GlobError, errors of msgspec, and bytes that are not UTF-8
            InvalidPathError,
            RecursionError,  # of msgspec, for data that is nested a thousand levels deep
        ) as exc:
            raise CorruptZnodeError(path, str(exc)[:MAX_REASON]) from exc
        raise CorruptZnodeError(path, f"version {version}: this release reads version {VERSION}; upgrade it")

    return parse_checked
