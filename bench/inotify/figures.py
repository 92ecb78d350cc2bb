"""What starts of a publisher took, and whether that is what is promised. (bench/inotify/figures.py)"""

from dataclasses import dataclass
from typing import Final

MAX_START_S: Final = 5.0
"""With 5,000 filters in HDFS and nothing in ZooKeeper, until all are in force."""

MAX_RESTART_S: Final = 2.0
"""With nothing changed, until all are in force again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of a publisher, from the start of its process on."""

    is_restart: bool
    filters: int
    in_force_s: float  # until it publishes with all filters
    compared_s: float  # until it has read all filters from HDFS
    zookeeper_calls: int  # until then
    namenode_calls: int  # which the NameNode counts as operations of files, by RPC and WebHDFS, until then
    attribute_calls: int  # getXAttrs by RPC, which it does not count as such, until then
    cpu_s: float  # of the publisher, until then
    waited_s: float  # of the publisher for a CPU that others had, until then
    load: float  # of the machine, in its last minute

    @property
    def most_s(self) -> float:
        """What it may take."""
        return MAX_RESTART_S if self.is_restart else MAX_START_S

    @property
    def is_in_time(self) -> bool:
        """Whether it is as quick as promised."""
        return self.in_force_s <= self.most_s

    def line(self) -> str:
        """Return it for people."""
        return (
            f"{'met  ' if self.is_in_time else 'SHORT'} {'restart' if self.is_restart else 'start'} with "
            f"{self.filters} filters: in force after {self.in_force_s:.2f} s (at most {self.most_s:g} s), read from "
            f"HDFS after {self.compared_s:.2f} s, with {self.namenode_calls} calls of the NameNode, "
            f"{self.attribute_calls} for attributes and {self.zookeeper_calls} of ZooKeeper, "
            f"{self.cpu_s:.2f} s of CPU, {self.waited_s:.2f} s of waiting for one (load {self.load:.1f})"
        )
