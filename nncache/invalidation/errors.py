"""The errors between the NameNode's edits and the cache."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


def part_from_frames(error: BaseException) -> None:
    """Remove the tracebacks from an error and from its causes; call it after everything was logged.

    A frame that refers to its error, as when a run stores the error that ended it, would keep all its objects: no
    daemon collects reference cycles that have grown old.
    """
    found: BaseException | None = error
    while found is not None and found.__traceback__ is not None:
        found.__traceback__ = None
        found = found.__cause__ or found.__context__


class InvalidationError(Exception):
    """Root of this room's errors. Caught only where the consumer's loop is supervised."""


class GapKind(Enum):
    """Why events are missing, as far as the reaction depends on it."""

    PURGED = auto()  # these transactions are gone; later ones can be read
    WENT_BACK = auto()  # the log ends before a transaction that was read from it
    UNREADABLE = auto()  # the edits after the position cannot be read, perhaps never again
    OTHER = auto()  # any other end of a run, such as another active NameNode; nothing need be lost


@dataclass(frozen=True, slots=True)
class Discontinued:
    """The log is not the one followed so far, or cannot be followed; deciders return it for MissingEventsError."""

    reason: str
    kind: GapKind = GapKind.OTHER


class MissingEventsError(InvalidationError):
    """Continuity is lost: edits were purged or rolled back, or another incarnation is the active NameNode.

    Everything read from the stream is in doubt and must be forgotten (guarantee GapFlush). A new run of the
    stream may begin immediately. Named after org.apache.hadoop.hdfs.inotify.MissingEventsException.
    """

    def __init__(
        self,
        reason: str,
        kind: GapKind = GapKind.OTHER,
        *,
        first_txid: int | None = None,
        last_txid: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.first_txid = first_txid  # the first transaction that is missing, where known
        self.last_txid = last_txid  # the last transaction that is missing, where known


class ChannelOutageError(MissingEventsError):
    """It has been unknown for too long whether events are missing; the end of the outage will show it."""


class PublisherAwayError(ChannelOutageError):
    """There is no publisher: changes in HDFS are not published."""


class ZooKeeperSilentError(ChannelOutageError):
    """ZooKeeper does not answer: published records are not seen."""


NOTHING_YET: Final = (
    "nothing was published yet: see zookeeper_root and nameservice, and that nncache publisher runs; nncache check "
    "lists what there is"
)
"""The meaning of a nameservice without a znode, and the remedy."""


class ChannelUnavailableError(InvalidationError):
    """The stream cannot be opened now; a later attempt may succeed."""


class UnreadableEditsError(ChannelUnavailableError):
    """The NameNode answers, but these edits cannot be read: it has lost them, or they have unknown content."""


class UnconfirmedReplyError(ChannelUnavailableError):
    """A reply came over a connection whose NameNode is not confirmed; it was discarded."""


class NotPermittedError(ChannelUnavailableError):
    """The NameNode or ZooKeeper refuses this user; only an administrator can help."""


class WrongNamespaceError(ChannelUnavailableError):
    """Published records, or an address of a NameNode, belong to another namespace; only an administrator can help."""


class CorruptZnodeError(InvalidationError):
    """A znode of the channel has invalid data, no part of which is used. `path` names the znode."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class UnknownFilterError(ChannelUnavailableError):
    """No filter of that name is published. `names` are the published ones; None where ZooKeeper's ACL hides them."""

    def __init__(self, name: str, names: tuple[str, ...] | None) -> None:
        others = "this user may not list those that there are"
        if names is not None:
            others = f"there are: {', '.join(names) or 'none'}"
        super().__init__(f"there is no filter {name!r}; {others}")
        self.names = names


class FilterError(InvalidationError):
    """A filter, or a change of one, is invalid; nothing was changed."""


class FilterStoreError(InvalidationError):
    """The filters could not be read or changed."""


class FilterExistsError(FilterStoreError):
    """There is a filter of that name; it must be removed before another one is added."""


class NoSuchFilterError(FilterStoreError):
    """There is no filter of that name."""


class BrokenFilterError(FilterStoreError):
    """HDFS has no valid filter under that name."""


class FilterAccessError(FilterStoreError):
    """HDFS refuses this user."""


class FiltersUnavailableError(FilterStoreError):
    """HDFS gave no valid answer; the known filters stay in force."""
