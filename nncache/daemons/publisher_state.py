"""State of a publisher for operators: whether it publishes, or why not."""

from dataclasses import dataclass

from nncache.daemons.state_change import StateLine, about_active
from nncache.hadoop.election_view import Active


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherState:
    """The state that the log and /ready of a publisher report."""

    active: Active | None
    is_zookeeper_connected: bool | None
    """None if the publisher does not write to ZooKeeper."""
    trouble: str
    """Why nothing is being published, as the publisher reports it; "" if it publishes."""
    is_standby: bool = False
    """Another publisher leads; this one would take over."""
    namenodes: str = ""
    """What each NameNode reports about itself."""

    @property
    def is_publishing(self) -> bool:
        """Whether changes reach proxies and subscribers."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        """Why no changes are published: the first fault; "" if changes are published."""
        if self.is_zookeeper_connected is False:
            return self._with_trouble("there is no connection to ZooKeeper")
        if self.active is None:
            return self._with_trouble("no active NameNode is known")
        return self.trouble

    def _with_trouble(self, what: str) -> str:
        return f"{what} ({self.trouble})" if self.trouble else what


def lines(before: PublisherState | None, now: PublisherState) -> tuple[StateLine, ...]:
    """Return the log lines for a change of state. `before` is None until a state has been logged."""
    of_active = about_active(
        None if before is None else before.active,
        now.active,
        is_first=before is None,
        why_none=now.namenodes,
        without="its edits are read as soon as there is one",
    )
    if before is not None and _kind(before) == _kind(now):
        return of_active
    if now.is_publishing:
        return *of_active, StateLine("changes are published")
    if now.is_standby:
        return *of_active, StateLine(f"standing by: {now.why_not}")
    follows = "proxies forward calls to the NameNode, and watchers get no events"
    what_to_do = "the warnings of nncache.invalidation say more"
    if now.is_zookeeper_connected is False:
        what_to_do = "see that the servers of zookeeper run and that this host reaches them"
    elif now.active is None:
        what_to_do = "see that one NameNode is active"
    return *of_active, StateLine(
        f"changes are not published: {now.why_not}; {follows}; {what_to_do}", is_bad=True
    )


def _kind(state: PublisherState) -> tuple[bool, bool]:
    return state.is_publishing, state.is_standby
