"""Read and write the filters in force."""

from dataclasses import dataclass
from typing import Final

import msgspec

from nncache.hadoop.globs import compile_glob
from nncache.hadoop.paths import name
from nncache.invalidation.channel.znode_json import ENCODER, VERSION, Id, Number, Versioned, checked
from nncache.invalidation.channel.znodes import is_filter_name

MAX_GLOB_LENGTH: Final = 8000
"""The limit of a path, HdfsServerConstants.MAX_PATH_LENGTH. Compiling a longer glob could take seconds."""


@dataclass(frozen=True, slots=True)
class FilterTerms:
    """The parts of a filter on which its subscribers rely; their stream announces a change of these."""

    path_glob: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFilter:
    """A filter in force.

    `id` identifies it with this glob, and is never used again: caches go by it. `chain` identifies its stream, which
    continues when the glob changes; it is the first id of the filter.
    """

    name: str
    id: str
    path_glob: str
    since_txid: int  # its stream begins after this transaction
    owner: str
    allowed_subscribers: tuple[str, ...]
    chain: str = ""  # the id unless it is given
    file_id: int = 0  # HDFS's file id of its list of subscribers; 0 if unknown
    replaces: FilterTerms | None = None  # the terms known to its subscribers, until a record announces others

    def __post_init__(self) -> None:
        if not self.chain:
            object.__setattr__(self, "chain", self.id)

    @property
    def terms(self) -> FilterTerms:
        """The parts on which its subscribers rely."""
        return FilterTerms(self.path_glob, self.owner)


class TermsJson(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON form of FilterTerms."""

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
    """Return the data of the znode of a filter's definition; the znode's name is the filter's name."""
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
    """Return the users who may read the events of the filter with this definition: its owner and its subscribers.

    The glob is not compiled: any user may trigger this, and a glob may take long. Raises CorruptZnodeError.
    """
    definition = _DEFINITION.decode(data)
    return frozenset({definition.owner, *definition.allowed_subscribers})


@checked
def parse_published_filter(path: str, data: bytes) -> PublishedFilter:
    """Return the filter whose definition is the data of the znode `path`. Raises CorruptZnodeError."""
    if not is_filter_name(name(path)):
        raise ValueError("no filter may be called so")
    definition = _DEFINITION.decode(data)
    _check_glob(definition.path_glob)
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
    """Return the terms in this JSON. Raises ValueError: the glob is malformed."""
    _check_glob(found.path_glob)
    return FilterTerms(found.path_glob, found.owner)


def _check_glob(glob: str) -> None:
    if len(glob) > MAX_GLOB_LENGTH:
        raise ValueError(f"a glob of {len(glob)} characters: at most {MAX_GLOB_LENGTH} are possible")
    compile_glob(glob)
