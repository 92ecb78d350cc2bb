"""A filter, and its representation in HDFS.

Named after the INotifyPathFilterInfo of HDFS-8940. Each fact is stored once. An extended attribute of the filter's
directory, or a file `definition.json` in it, holds name and glob. A directory `subscribers` belongs to the filter's
owner and has one child for each user that may subscribe. So HDFS's own permissions decide who may change what, and no
two copies can differ: where the file exists, the attribute is ignored.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from nncache.hadoop.globs import GlobError, compile_glob
from nncache.hadoop.users import is_user_name
from nncache.invalidation.channel.published_filters import MAX_GLOB_LENGTH
from nncache.invalidation.channel.znodes import is_filter_name
from nncache.invalidation.errors import FilterError

ATTRIBUTE: Final = "user.nncache.definition"
"""The attribute that only an administrator may change. The NameNode alone stores it: no DataNode is needed."""

DEFINITION: Final = "definition.json"
"""The file with the same content, from older releases, by hand, or where HDFS does not accept the attribute."""

SUBSCRIBERS: Final = "subscribers"
"""The directory that belongs to the filter's owner."""

MAX_SUBSCRIBERS: Final = 10_000
"""The number of clients that the service is designed for."""

MAX_SUBSCRIBERS_LENGTH: Final = 256 * 1024
"""Bytes of all subscribers' names, as JSON escapes them; with the glob they fit into one znode of 512 KiB."""

MAX_DEFINITION_BYTES: Final = 64 * 1024
"""Size limit of a definition: no glob makes it longer, even if JSON escapes each of its characters."""

_NO_USER: Final = (
    "must be a user name of HDFS: no /, : or control character, neither . nor .., at most 255 bytes"
)


@dataclass(frozen=True, slots=True)
class Filter:
    """A glob of paths, its owner, and the users that may subscribe to its events.

    Raises:
        FilterError: a value is invalid; the message is for the author of the filter.
    """

    name: str
    path_glob: str  # as in `nncache.hadoop.glob_syntax`
    owner: str
    allowed_subscribers: tuple[str, ...] = ()  # sorted, each once, whatever the order given
    file_id: int = field(default=0, compare=False)
    """HDFS's file id of its list of subscribers: grows with each filter created or recreated. 0: it is not in HDFS."""

    def __post_init__(self) -> None:
        check_name(self.name)
        check_glob(self.path_glob)
        check_owner(self.owner)
        for user in self.allowed_subscribers:
            check_subscriber(user)
        users = tuple(sorted(set(self.allowed_subscribers)))
        check_subscribers(users)
        object.__setattr__(self, "allowed_subscribers", users)


def check_name(name: str) -> None:
    """Raise FilterError if no filter may have this name: ZooKeeper or another part of the service cannot use it."""
    if not is_filter_name(name):
        raise FilterError(
            f"name: {name!r}: must be letters, digits, . _ and -, beginning with a letter or digit, "
            "at most 128 characters, and neither zookeeper nor quota"
        )


def check_owner(user: str) -> None:
    """Raise FilterError if this owner is not a possible user name of a NameNode."""
    if not is_user_name(user):
        raise FilterError(f"owner: {user!r}: {_NO_USER}")


def check_subscribers(users: Collection[str]) -> None:
    """Raise FilterError if these users, each listed once, would not fit into one znode."""
    if len(users) > MAX_SUBSCRIBERS:
        raise FilterError(f"{len(users)} subscribers: at most {MAX_SUBSCRIBERS} are possible")
    if (length := sum(len(msgspec.json.encode(user)) - 2 for user in users)) > MAX_SUBSCRIBERS_LENGTH:
        raise FilterError(
            f"{len(users)} subscribers: their names have {length} bytes, "
            f"at most {MAX_SUBSCRIBERS_LENGTH} are possible"
        )


def check_subscriber(user: str) -> None:
    """Raise FilterError if this subscriber is not a possible user name of a NameNode."""
    if not is_user_name(user):
        raise FilterError(f"subscriber: {user!r}: {_NO_USER}")


def check_glob(glob: str) -> None:
    """Raise FilterError, with the position, if this is not a valid glob of Hadoop, or is too long."""
    if len(glob) > MAX_GLOB_LENGTH:
        raise FilterError(
            f"glob: {len(glob)} characters: at most {MAX_GLOB_LENGTH} are possible, as in a path"
        )
    try:
        glob.encode()
        compile_glob(glob)
    except GlobError as error:
        raise FilterError(f"glob: {error}") from error
    except UnicodeEncodeError as error:
        raise FilterError(f"glob: {glob!r}: is not UTF-8") from error


class _Definition(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    name: str
    path_glob: str


_DECODER: Final = msgspec.json.Decoder(_Definition)


def encode_definition(definition: Filter) -> bytes:
    """Return the content of the filter's attribute, or of its `definition.json`."""
    return msgspec.json.encode(_Definition(definition.name, definition.path_glob)) + b"\n"


def parse_definition(
    data: bytes,
    *,
    name: str,
    owner: str,
    allowed_subscribers: Iterable[str] = (),
    file_id: int = 0,
    source: str = DEFINITION,
) -> Filter:
    """Build a filter from its definition, which was read from `source`, and from the state of its directories.

    Raises:
        FilterError: the definition is invalid. So is an unknown field: it might narrow the filter.
    """
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FilterError(f"{source}: {error}") from error
    if found.name != name:
        raise FilterError(f"{source}: is that of {found.name!r}")
    return Filter(name, found.path_glob, owner, tuple(allowed_subscribers), file_id)


def filter_as_json(definition: Filter) -> dict[str, object]:
    """Return the whole filter under the field names of HDFS-8940."""
    return {
        "name": definition.name,
        "pathGlob": definition.path_glob,
        "owner": definition.owner,
        "allowedSubscribers": list(definition.allowed_subscribers),
    }
