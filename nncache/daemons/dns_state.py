"""State of the DNS daemon: whether what it answers is what is registered."""

from dataclasses import dataclass
from typing import Literal

from nncache.daemons.state_change import StateChange


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsState:
    """What the log and /ready tell about.

    Attributes:
        is_loaded: the registry has been read; it answers.
        is_current: the registry is followed.
        is_zookeeper_connected: there is a connection to ZooKeeper.
        missing_root: registry_root, if there is no such znode; empty: there is.
    """

    is_loaded: bool
    is_current: bool
    is_zookeeper_connected: bool
    missing_root: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether it answers; also while ZooKeeper is away, from what was last known."""
        return self.is_loaded

    @property
    def reason(self) -> Literal["", "no-zookeeper", "not-loaded"]:
        """What is out of order, for everybody."""
        if not self.is_zookeeper_connected:
            return "no-zookeeper"
        return "" if self.is_loaded else "not-loaded"

    @property
    def state(self) -> str:
        """The same in words."""
        if self.is_current and self.missing_root:
            return f"there is no registry at {self.missing_root} in ZooKeeper: no name is found"
        if self.is_current:
            return "answers are those of what is registered"
        if self.is_loaded:
            return "the registry cannot be read: answers are those of what was last known"
        return "the registry has not been read yet: questions are answered with SERVFAIL"


def lines(before: DnsState | None, now: DnsState) -> tuple[StateChange, ...]:
    """Return what there is to say about the change from one state to the next; None: nothing was said yet."""
    if before is not None and before.state == now.state:
        return ()
    if now.is_current and not now.missing_root:
        return (StateChange(now.state),)
    if now.is_current:
        return (StateChange(f"{now.state}; correct registry_root (hadoop.registry.zk.root)", is_bad=True),)
    what_to_do = "see that the servers of zookeeper run and that this host reaches them"
    return (StateChange(f"{now.state}; {what_to_do}", is_bad=True),)
