"""Where in ZooKeeper's tree what stands.

Below the root, for each nameservice NS:

    NS                  the namespace's block pool id
    NS/.publisher       ephemeral: who leads the publishers
    NS/.epoch           counts up with every leader; each of its writes checks the version
    NS/.filters         the generation, which counts up with every change of the set of filters
    NS/.filters/NAME    a filter's definition
    NS/.cache           the last transaction covered; children: what caches must forget, by transaction id
    NS/NAME             the last transaction of a filter; children: its events, by transaction id

Names of filters begin with a letter or a digit, so that they never meet the channel's own names.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MAX_TXID: Final = (1 << 63) - 1
"""Transaction ids are 64-bit numbers with a sign, as Java's long."""

_TXID: Final = re.compile("0|[1-9][0-9]{0,18}")
_FILTER_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TAKEN: Final = frozenset({"zookeeper", "quota"})  # ZooKeeper's own, at the root of its tree


@dataclass(frozen=True, slots=True)
class Znodes:
    """The places of one nameservice."""

    root: str  # an absolute path such as /HDFSInotifyRoot
    nameservice: str

    @property
    def namespace(self) -> str:
        """The nameservice's own place; its data is the block pool id."""
        return f"{self.root}/{self.nameservice}"

    @property
    def publisher(self) -> str:
        """The leader's ephemeral znode, while there is one."""
        return f"{self.namespace}/.publisher"

    @property
    def epoch(self) -> str:
        """The number of leaders that there have been; its version fences their writes."""
        return f"{self.namespace}/.epoch"

    @property
    def filters(self) -> str:
        """The generation of the set of filters; the definitions are its children."""
        return f"{self.namespace}/.filters"

    @property
    def cache(self) -> str:
        """The stream of what caches must forget."""
        return f"{self.namespace}/.cache"

    def definition(self, name: str) -> str:
        """A filter's definition."""
        return f"{self.filters}/{name}"

    def stream(self, name: str) -> str:
        """The stream of a filter's events."""
        return f"{self.namespace}/{name}"

    def record(self, stream_path: str, txid: int) -> str:
        """A stream's record whose last transaction this is."""
        return f"{stream_path}/{txid}"


def nameservices(children: Iterable[str]) -> tuple[str, ...]:
    """Return, in order, those of the root's children that may be nameservices."""
    return tuple(sorted(name for name in children if name not in _TAKEN and not name.startswith(".")))


def parse_txid(text: str | bytes) -> int | None:
    """Read a number written as plain decimal (transaction id, generation); None if it is anything else."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")  # any byte is some character, and only ASCII digits will do
    if not _TXID.fullmatch(text):
        return None
    number = int(text)
    return number if number <= MAX_TXID else None


def encode_number(number: int) -> bytes:
    """Return a transaction id, a generation or an epoch as znodes hold it."""
    return b"%d" % number


def is_filter_name(text: str) -> bool:
    """Tell whether a filter may be called so."""
    return _FILTER_NAME.fullmatch(text) is not None and text not in _TAKEN
