"""Where a publisher's records go.

The counterpart of `nncache.invalidation.stream`: the InotifyEventOutputStream of HDFS-8940, named in the settings.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from nncache.coordination.login import Login
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import SessionStats
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.channel.records import Dropped, Events, Stale
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.settings import ZOOKEEPER, load_class


@dataclass(frozen=True, slots=True)
class FilterPosition:
    """A filter in force, and how far its own records go."""

    filter: PublishedFilter
    txid: int  # the last transaction of its records; where it begins if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedState:
    """What is published already, and what the next publication goes on from."""

    txid: int | None  # the last transaction covered; None: nothing that can be gone on from
    filters: Mapping[str, FilterPosition] = field(default_factory=dict)  # in force, by name
    damaged: Mapping[str, PublishedFilter | None] = field(
        default_factory=dict
    )  # filters that can't go on, by name, as far as they can be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What is to be published at once: everything that the transactions after the last publication brought."""

    txid: int  # the last of these transactions
    content: Stale | Dropped  # for the caches
    filters: Mapping[str, Events | Dropped]  # for the subscribers of filters, by name; not empty
    missed: Mapping[str, Dropped] = field(default_factory=dict)  # by name; after their events: left out


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChange:
    """How the set of filters changes."""

    removed: tuple[str, ...] = ()  # also damaged ones
    added: tuple[PublishedFilter, ...] = ()  # also in place of removed ones, under a new id
    updated: tuple[PublishedFilter, ...] = ()  # other subscribers, or made again as it was
    modified: tuple[PublishedFilter, ...] = ()  # other glob, under a new id, or other owner: the same chain

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not (self.removed or self.added or self.updated or self.modified)

    def without(self, names: Collection[str]) -> "FilterChange":
        """Return the change without adding filters of these names."""
        return replace(self, added=tuple(filter_ for filter_ in self.added if filter_.name not in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSetup:
    """What an output may be made from; each takes what it needs."""

    nameservice: str
    publisher: PublisherSettings
    zookeeper: ZooKeeperSettings
    clock: Callable[[], float]
    login: Login | None = None  # at ZooKeeper


class InotifyEventOutputStream(ABC):
    """Takes publications, in order, each once, for one nameservice.

    Opening it begins a run; an error of any call ends it: what was carried out is known only after the next `open`.

    Invariants:
        O1  A publication is visible as a whole, or the caches' part of it is not: who has read that a transaction
            is covered finds all records of all filters up to it.
        O2  Of two processes that both believe that they publish, one gets an error; their records never mix.
        O3  Records of one filter, and of the caches, name their predecessor: none is missing unnoticed.

    Every output is constructed as `Output(setup)`.
    """

    @abstractmethod
    def __init__(self, setup: OutputSetup) -> None: ...

    @property
    @abstractmethod
    def waiting_for(self) -> str:
        """The leader whose end is waited for; "" for none."""

    @property
    def blocked(self) -> frozenset[str]:
        """The names that the last change of filters could not add, as their places are taken."""
        return frozenset()

    @abstractmethod
    async def open(self, identity: PublisherIdentity, block_pool: str) -> PublishedState:
        """Become this namespace's leader, standing by while there is another, and read what is published.

        Raises:
            ChannelUnavailableError: not now.
            WrongNamespaceError: what is published there is of another namespace.
            CoordinationError: ZooKeeper can't be asked, or refuses.
        """

    @abstractmethod
    async def keep(self) -> None:
        """Never return; raise as soon as another process may lead, or has written to what is ours."""

    @abstractmethod
    async def begin(self, txid: int) -> None:
        """Give up all that is published: begin after this transaction, without filters."""

    @abstractmethod
    async def publish(self, publication: Publication) -> int:
        """Publish; return how many writes that took."""

    @abstractmethod
    async def change_filters(self, change: FilterChange) -> int:
        """Change the set of filters, for what is published from now on; return how many writes that took.

        Followers of the set read it again, also when nothing changes. All are removed that are to be; what can't
        be added is `blocked` until it can, and asked for again with the next change.
        """

    @abstractmethod
    async def close(self, *, give_up: bool) -> None:
        """End the run; `give_up` lets a standby lead, without it only this process's end does."""

    async def shut_down(self) -> None:
        """Give up what outlasts the runs, such as a session with ZooKeeper; no run follows."""
        return

    def stats(self) -> OutputStats:
        """Return the figures over all runs."""
        return OutputStats()

    def session_stats(self) -> SessionStats:
        """Return the figures of the session with ZooKeeper, if it has one."""
        return SessionStats()


_BUILT_IN = {ZOOKEEPER: "nncache.invalidation.publisher.zookeeper_output:ZooKeeperInotifyEventOutputStream"}


def load_output_class(name: str) -> type[InotifyEventOutputStream]:
    """Return the output of that name: a built-in one, or `package.module:Class`.

    Raises:
        SettingError: there is no such class, or it is no InotifyEventOutputStream.
    """
    return load_class("output_stream", name, _BUILT_IN, InotifyEventOutputStream)  # type: ignore[type-abstract]  # it is only compared with
