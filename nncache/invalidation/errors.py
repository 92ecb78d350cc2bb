"""What can go wrong between the NameNode's edits and the cache."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


def part_from_frames(error: BaseException) -> None:
    """Cut an error, and those from which it came, off the frames that they came through; call it when all was logged.

    A frame that leads back to its error, as where what ended a run is noted in the run, would keep all that it holds:
    no daemon collects circles that have grown old.
    """
    found: BaseException | None = error
    while found is not None and found.__traceback__ is not None:
        found.__traceback__ = None
        found = found.__cause__ or found.__context__


class InvalidationError(Exception):
    """Root of this room's errors. Caught only where the consumer's loop is supervised."""


class GapKind(Enum):
    """Why events are missing, as far as that decides how to go on."""

    PURGED = auto()  # these transactions are gone; what follows them can be read
    WENT_BACK = auto()  # the log ends before a transaction that was read from it
    UNREADABLE = auto()  # the edits after the position can't be read, for all we know for good
    OTHER = auto()  # whatever else ends a run, such as another active NameNode; nothing need be lost


@dataclass(frozen=True, slots=True)
class Discontinued:
    """The log is not the one followed so far, or cannot be followed: what a decider returns for MissingEventsError."""

    reason: str
    kind: GapKind = GapKind.OTHER


class MissingEventsError(InvalidationError):
    """Continuity is lost: edits were purged or rolled back, or another incarnation is the active NameNode.

    All that was learnt from the stream is in doubt and must be forgotten (guarantee GapFlush). A new run of
    the stream may begin at once. Named after org.apache.hadoop.hdfs.inotify.MissingEventsException.
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
        self.last_txid = last_txid  # the last one that is, where known


class ChannelOutageError(MissingEventsError):
    """Nothing can be known for so long that it must be reported; its end will show whether events are missing."""


class PublisherAwayError(ChannelOutageError):
    """There is no publisher: what happens in HDFS is not published."""


class ZooKeeperSilentError(ChannelOutageError):
    """ZooKeeper does not answer: what is published is not seen."""


NOTHING_YET: Final = (
    "nothing was published yet: see zookeeper_root and nameservice, and that nncache publisher runs; nncache check "
    "lists what there is"
)
"""What it means, and what to do, where a nameservice has no znode."""


class ChannelUnavailableError(InvalidationError):
    """The stream can't be opened now; asking again later may help."""


class UnreadableEditsError(ChannelUnavailableError):
    """The NameNode answers, but these edits can't be read: it has lost them, or they hold what is not known here."""


class UnconfirmedReplyError(ChannelUnavailableError):
    """An answer came over a connection of which it is not known who is at its other end; it was thrown away."""


class NotPermittedError(ChannelUnavailableError):
    """The NameNode refuses its edits to this user; only an administrator can help."""


class WrongNamespaceError(ChannelUnavailableError):
    """What is published, or an address of a NameNode, belongs to another namespace; only an administrator can help."""


class CorruptZnodeError(InvalidationError):
    """A znode of the channel does not hold what it should; it says nothing, in any part. `path` names it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class UnknownFilterError(ChannelUnavailableError):
    """No filter of that name is published. `names` are those that are; None where ZooKeeper's ACL hides them."""

    def __init__(self, name: str, names: tuple[str, ...] | None) -> None:
        others = "this user may not list those that there are"
        if names is not None:
            others = f"there are: {', '.join(names) or 'none'}"
        super().__init__(f"there is no filter {name!r}; {others}")
        self.names = names


class FilterError(InvalidationError):
    """A filter, or a change of one, makes no sense; nothing was touched."""


class FilterStoreError(InvalidationError):
    """The filters could not be read or changed."""


class FilterExistsError(FilterStoreError):
    """There is a filter of that name; only its removal makes room for another."""


class NoSuchFilterError(FilterStoreError):
    """There is no filter of that name."""


class BrokenFilterError(FilterStoreError):
    """What HDFS keeps under that name is no filter."""


class FilterAccessError(FilterStoreError):
    """HDFS refuses this user."""


class FiltersUnavailableError(FilterStoreError):
    """HDFS gave no answer that counts; what is known of the filters stays in force."""
