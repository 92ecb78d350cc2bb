"""What a filter is, and how HDFS keeps it.

Named after the INotifyPathFilterInfo of HDFS-8940. Each of its facts has one place: an extended attribute of the
filter's directory, or a file `definition.json` in it, holds name and glob; a directory, `subscribers`, belongs to the
filter's owner and has one child for each user that may subscribe. So HDFS's own permissions say who may change what,
and nothing that is written twice can differ: where there is a file, the attribute means nothing.
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
"""The attribute with what only an administrator may change. The NameNode alone keeps it: no DataNode is needed."""

DEFINITION: Final = "definition.json"
"""The file with the same, from older releases, by hand, or where HDFS does not take it as an attribute."""

SUBSCRIBERS: Final = "subscribers"
"""The directory that belongs to the owner."""

MAX_SUBSCRIBERS: Final = 10_000
"""As many clients as the service is made for."""

MAX_SUBSCRIBERS_LENGTH: Final = 256 * 1024
"""Bytes of all their names, as JSON escapes them; with the glob they still fit into one znode of 512 KiB."""

MAX_DEFINITION_BYTES: Final = 64 * 1024
"""No glob makes it longer, even if JSON escapes each of its characters."""

_NO_USER: Final = (
    "must be a user name of HDFS: no /, : or control character, neither . nor .., at most 255 bytes"
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which paths matter, whose filter that is, and who may subscribe to what happens to them.

    Raises:
        FilterError: what is wrong with it, for its author.
    """

    name: str
    path_glob: str  # as in `nncache.hadoop.glob_syntax`
    owner: str
    allowed_subscribers: tuple[str, ...] = ()  # sorted, each once, however they are given
    file_id: int = field(default=0, compare=False)
    """HDFS's id of its list of subscribers: larger than that of any filter made before, and another one for a filter
    that was made again. 0: it is not in HDFS."""

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
    """Raise FilterError if no filter may be called so: ZooKeeper, or another part of the service, could not."""
    if not is_filter_name(name):
        raise FilterError(
            f"name: {name!r}: must be letters, digits, . _ and -, beginning with a letter or digit, "
            "at most 128 characters, and neither zookeeper nor quota"
        )


def check_owner(user: str) -> None:
    """Raise FilterError if no filter can belong to this user: a NameNode would not know such a user."""
    if not is_user_name(user):
        raise FilterError(f"owner: {user!r}: {_NO_USER}")


def check_subscribers(users: Collection[str]) -> None:
    """Raise FilterError if these, each named once, would not fit into one znode."""
    if len(users) > MAX_SUBSCRIBERS:
        raise FilterError(f"{len(users)} subscribers: at most {MAX_SUBSCRIBERS} are possible")
    if (length := sum(len(msgspec.json.encode(user)) - 2 for user in users)) > MAX_SUBSCRIBERS_LENGTH:
        raise FilterError(
            f"{len(users)} subscribers: their names have {length} bytes, "
            f"at most {MAX_SUBSCRIBERS_LENGTH} are possible"
        )


def check_subscriber(user: str) -> None:
    """Raise FilterError if this can be no user: a NameNode would not know such a user."""
    if not is_user_name(user):
        raise FilterError(f"subscriber: {user!r}: {_NO_USER}")


def check_glob(glob: str) -> None:
    """Raise FilterError, which says where, if this is no glob of Hadoop, or too long."""
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
    """Put a filter together from its definition, which stands in `source`, and from what its directories say.

    Raises:
        FilterError: what is wrong. A field that is not known is wrong, too: it might narrow what is meant.
    """
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FilterError(f"{source}: {error}") from error
    if found.name != name:
        raise FilterError(f"{source}: is that of {found.name!r}")
    return Filter(name, found.path_glob, owner, tuple(allowed_subscribers), file_id)


def filter_as_json(definition: Filter) -> dict[str, object]:
    """Return all of a filter under the names that HDFS-8940 gives its parts."""
    return {
        "name": definition.name,
        "pathGlob": definition.path_glob,
        "owner": definition.owner,
        "allowedSubscribers": list(definition.allowed_subscribers),
    }
