"""The paths of the channel's znodes.

Below the root, for each nameservice NS:

    NS                  the namespace's block pool id
    NS/.publisher       ephemeral: the leader of the publishers
    NS/.epoch           incremented by every leader; each of its writes checks the version
    NS/.filters         the generation, incremented with every change of the set of filters
    NS/.filters/NAME    a filter's definition
    NS/.cache           the last transaction covered; children: changes that make cached data stale, by transaction id
    NS/NAME             the last transaction of a filter; children: its events, by transaction id

Names of filters begin with a letter or a digit, so that they never collide with the channel's own names.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MAX_TXID: Final = (1 << 63) - 1
"""Transaction ids are signed 64-bit numbers, as Java's long."""

_TXID: Final = re.compile("0|[1-9][0-9]{0,18}")
_FILTER_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TAKEN: Final = frozenset({"zookeeper", "quota"})  # ZooKeeper's own, at the root of its tree


@dataclass(frozen=True, slots=True)
class ZnodePaths:
    """The paths of one nameservice's znodes."""

    root: str  # an absolute path such as /HDFSInotifyRoot
    nameservice: str

    @property
    def namespace(self) -> str:
        """The nameservice's top znode; its data is the block pool id."""
        return f"{self.root}/{self.nameservice}"

    @property
    def publisher(self) -> str:
        """The leader's ephemeral znode, while there is one."""
        return f"{self.namespace}/.publisher"

    @property
    def epoch(self) -> str:
        """The number of leaders so far; its version fences their writes."""
        return f"{self.namespace}/.epoch"

    @property
    def filters(self) -> str:
        """The generation of the set of filters; the definitions are its children."""
        return f"{self.namespace}/.filters"

    @property
    def cache(self) -> str:
        """The stream for caches."""
        return f"{self.namespace}/.cache"

    def definition(self, name: str) -> str:
        """Return the path of a filter's definition."""
        return f"{self.filters}/{name}"

    def stream(self, name: str) -> str:
        """Return the path of the stream of a filter's events."""
        return f"{self.namespace}/{name}"

    def record(self, stream_path: str, txid: int) -> str:
        """Return the path of the record of a stream whose last transaction this is."""
        return f"{stream_path}/{txid}"


def nameservices(children: Iterable[str]) -> tuple[str, ...]:
    """Return, sorted, the children of the root that may be nameservices."""
    return tuple(sorted(name for name in children if name not in _TAKEN and not name.startswith(".")))


def parse_txid(text: str | bytes) -> int | None:
    """Return a number in plain decimal (transaction id, generation); None if the text is anything else."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")  # never fails; only ASCII digits match
    if not _TXID.fullmatch(text):
        return None
    number = int(text)
    return number if number <= MAX_TXID else None


def encode_number(number: int) -> bytes:
    """Return a transaction id, a generation or an epoch as the data of a znode."""
    return b"%d" % number


def is_filter_name(text: str) -> bool:
    """Return whether a filter may have this name."""
    return _FILTER_NAME.fullmatch(text) is not None and text not in _TAKEN
