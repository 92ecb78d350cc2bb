"""Read and write filters as they are in force."""

from dataclasses import dataclass
from typing import Final

import msgspec

from nncache.hadoop.globs import compile_glob
from nncache.hadoop.paths import name
from nncache.invalidation.channel.znode_json import ENCODER, VERSION, Id, Number, Versioned, checked
from nncache.invalidation.channel.znodes import is_filter_name

MAX_GLOB_LENGTH: Final = 8000
"""As a path's: HdfsServerConstants.MAX_PATH_LENGTH. To work out a longer one could take seconds."""


@dataclass(frozen=True, slots=True)
class FilterTerms:
    """What of a filter its subscribers count on, and learn in their stream when it changes."""

    path_glob: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFilter:
    """A filter as it is in force.

    `id` stands for it with this glob, and is never used again: caches go by it. `chain` is that of its stream, which
    goes on when the glob changes; it is the first id that the filter had.
    """

    name: str
    id: str
    path_glob: str
    since_txid: int  # its stream begins behind this transaction
    owner: str
    allowed_subscribers: tuple[str, ...]
    chain: str = ""  # the id unless it is given
    file_id: int = 0  # HDFS's id of what it was made from; 0 where that is not known
    replaces: FilterTerms | None = None  # what its subscribers know, until a record says what it has become

    def __post_init__(self) -> None:
        if not self.chain:
            object.__setattr__(self, "chain", self.id)

    @property
    def terms(self) -> FilterTerms:
        """What its subscribers count on."""
        return FilterTerms(self.path_glob, self.owner)


class TermsJson(msgspec.Struct, frozen=True, rename="camel"):
    """The same as JSON."""

    path_glob: str
    owner: str


class _Definition(Versioned, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    id: Id
    path_glob: str
    since: Number
    owner: str
    allowed_subscribers: tuple[str, ...]
    chain: Id | None = None
    file_id: Number = 0
    replaces: TermsJson | None = None


_DEFINITION: Final = msgspec.json.Decoder(_Definition)


def encode_published_filter(published: PublishedFilter) -> bytes:
    """Give what the znode of a filter's definition holds; the name is the znode's own."""
    known = published.replaces
    return ENCODER.encode(
        _Definition(
            version=VERSION,
            id=published.id,
            path_glob=published.path_glob,
            since=published.since_txid,
            owner=published.owner,
            allowed_subscribers=published.allowed_subscribers,
            chain=None if published.chain == published.id else published.chain,
            file_id=published.file_id,
            replaces=None if known is None else TermsJson(known.path_glob, known.owner),
        )
    )


@checked
def parse_readers(_: str, data: bytes) -> frozenset[str]:
    """Read who may read the events of the filter whose definition the znode is: its owner and its subscribers.

    What it matches is not looked at: strangers ask as well, and a glob may take long. Raises CorruptZnodeError.
    """
    definition = _DEFINITION.decode(data)
    return frozenset({definition.owner, *definition.allowed_subscribers})


@checked
def parse_published_filter(path: str, data: bytes) -> PublishedFilter:
    """Read the data of the znode `path`, a filter's definition. Raises CorruptZnodeError."""
    if not is_filter_name(name(path)):
        raise ValueError("no filter may be called so")
    definition = _DEFINITION.decode(data)
    _see_glob(definition.path_glob)
    return PublishedFilter(
        name=name(path),
        id=definition.id,
        path_glob=definition.path_glob,
        since_txid=definition.since,
        owner=definition.owner,
        allowed_subscribers=definition.allowed_subscribers,
        chain=definition.chain or definition.id,
        file_id=definition.file_id,
        replaces=None if definition.replaces is None else read_terms(definition.replaces),
    )


def read_terms(found: TermsJson) -> FilterTerms:
    """Return them as they are meant. Raises ValueError: the glob is malformed."""
    _see_glob(found.path_glob)
    return FilterTerms(found.path_glob, found.owner)


def _see_glob(glob: str) -> None:
    if len(glob) > MAX_GLOB_LENGTH:
        raise ValueError(f"a glob of {len(glob)} characters: at most {MAX_GLOB_LENGTH} are possible")
    compile_glob(glob)
