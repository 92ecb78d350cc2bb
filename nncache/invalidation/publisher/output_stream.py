"""The interface through which a publisher writes its records.

The counterpart of `nncache.invalidation.stream`: the InotifyEventOutputStream of HDFS-8940, named in the settings.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import SessionStats
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.channel.records import DroppedTransactions, MatchedEvents, StaleChanges
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.settings import ZOOKEEPER, load_class


@dataclass(frozen=True, slots=True)
class FilterPosition:
    """A filter in force, and the position of its own records."""

    filter: PublishedFilter
    txid: int  # the last transaction of its records; if there is none, where it begins


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedState:
    """The published state, which the next publication continues."""

    txid: int | None  # the last transaction covered; None if publishing must start over
    filters: Mapping[str, FilterPosition] = field(default_factory=dict)  # in force, by name
    damaged: Mapping[str, PublishedFilter | None] = field(
        default_factory=dict
    )  # filters whose streams must restart, by name; None without a valid definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Everything that the transactions after the last publication brought, to be published together."""

    txid: int  # the last of these transactions
    content: StaleChanges | DroppedTransactions  # for the caches
    filters: Mapping[
        str, MatchedEvents | DroppedTransactions
    ]  # for the subscribers, by filter; none is empty
    missed: Mapping[str, DroppedTransactions] = field(
        default_factory=dict
    )  # by name: what is left out after the events


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChange:
    """How the set of filters changes."""

    removed: tuple[str, ...] = ()  # including damaged ones
    added: tuple[PublishedFilter, ...] = ()  # including replacements of removed ones, under a new id
    updated: tuple[PublishedFilter, ...] = ()  # with other subscribers, or recreated unchanged
    modified: tuple[PublishedFilter, ...] = ()  # another glob, under a new id, or owner; the same chain

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not (self.removed or self.added or self.updated or self.modified)

    def without(self, names: Collection[str]) -> "FilterChange":
        """Return the change without the added filters of these names."""
        return replace(self, added=tuple(filter_ for filter_ in self.added if filter_.name not in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSetup:
    """The argument of an output's constructor; each output uses what it needs."""

    nameservice: str
    publisher: PublisherSettings
    zookeeper: ZooKeeperSettings
    clock: Callable[[], float]
    login: ZooKeeperLogin | None = None  # at ZooKeeper


class InotifyEventOutputStream(ABC):
    """Writes the publications of one nameservice, in order, each once.

    `open` begins a run, and an error of any call ends it. Only the next `open` shows which writes were carried out.

    Invariants:
        O1  A publication is visible as a whole, or its record for the caches is not visible: a reader that sees that a
            transaction is covered finds all records of all filters up to it.
        O2  Of two processes that both try to publish, one gets an error; their records never mix.
        O3  Each record of a filter, or of the caches, names its predecessor, so that a missing one is noticed.

    Every output is constructed as `Output(setup)`.
    """

    @abstractmethod
    def __init__(self, setup: OutputSetup) -> None: ...

    @property
    @abstractmethod
    def waiting_for(self) -> str:
        """The current leader while this publisher stands by; "" otherwise."""

    @property
    def blocked(self) -> frozenset[str]:
        """The names of filters that the last change could not add, because their paths are taken."""
        return frozenset()

    @abstractmethod
    async def open(self, identity: PublisherIdentity, block_pool: str) -> PublishedState:
        """Become this namespace's leader, standing by while another process leads, and read the published state.

        Raises:
            ChannelUnavailableError: publishing is not possible now.
            WrongNamespaceError: the published state is that of another namespace.
            CoordinationError: ZooKeeper does not answer, or refuses.
        """

    @abstractmethod
    async def keep(self) -> None:
        """Never return; raise as soon as another process may lead, or has written to this publisher's records."""

    @abstractmethod
    async def begin(self, txid: int) -> None:
        """Discard everything published, and begin after this transaction, without filters."""

    @abstractmethod
    async def publish(self, publication: Publication) -> int:
        """Publish; return the number of writes."""

    @abstractmethod
    async def change_filters(self, change: FilterChange) -> int:
        """Change the set of filters for later publications; return the number of writes.

        Followers of the set read it again, even if nothing changes. All filters to be removed are removed. A filter
        that cannot be added is `blocked`, and the caller includes it in the next change again.
        """

    @abstractmethod
    async def close(self, *, give_up: bool) -> None:
        """End the run. With `give_up` a standby may lead; without it, only the end of this process allows that."""

    async def shut_down(self) -> None:
        """Release what outlasts the runs, such as a session with ZooKeeper; no run follows."""
        return

    def stats(self) -> OutputStats:
        """Return the figures over all runs."""
        return OutputStats()

    def session_stats(self) -> SessionStats:
        """Return the figures of the session with ZooKeeper, if there is one."""
        return SessionStats()


_BUILT_IN = {ZOOKEEPER: "nncache.invalidation.publisher.zookeeper_output:ZooKeeperInotifyEventOutputStream"}


def load_output_class(name: str) -> type[InotifyEventOutputStream]:
    """Return the output class of this name: a built-in one, or `package.module:Class`.

    Raises:
        SettingError: there is no such class, or it is not an InotifyEventOutputStream.
    """
    return load_class("output_stream", name, _BUILT_IN, InotifyEventOutputStream)  # type: ignore[type-abstract]  # for issubclass alone
