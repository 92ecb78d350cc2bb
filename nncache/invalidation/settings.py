"""The settings of how changes are received."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from nncache.hadoop.configured_namenodes import QuorumJournal, parse_quorum_journal
from nncache.hadoop.feed_znodes import DEFAULT_ROOT
from nncache.net.setting_error import SettingError

DIRECT = "direct"
"""The channel in which a proxy reads the NameNode's edits itself."""

ZOOKEEPER = "zookeeper"
"""The channel that a publisher feeds."""

FEED = "feed"
"""The channel, and the publisher's source, that follows the feed of a namespace in ZooKeeper."""

INOTIFY = "inotify"
"""The source that polls the NameNode's inotify."""

JOURNALNODES = "journalnodes"
"""The source that reads the JournalNodes."""

DIRECTORY = "directory"
"""The source that reads the directory in which a NameNode on this host keeps its edits."""

AUTO = "auto"
"""The best of these sources that can be read at a time: JournalNodes, directory, inotify."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditsSettings:
    """Where edits are read. Raises SettingError: a value is outside its allowed range."""

    edits_source: str = field(
        default=INOTIFY,
        metadata={
            "help": f"Source of the edits: {INOTIFY} (getEditsFromTxid is polled), {JOURNALNODES} "
            f"(shared_edits_dir), {DIRECTORY} (edits_dir), {AUTO} (the best that can be read); for a publisher also "
            f"{FEED} (what nncache namenode writes to ZooKeeper). A proxy uses it with channel {DIRECT}."
        },
    )
    shared_edits_dir: str = field(
        default="",
        metadata={
            "help": "All JournalNodes and the journal, as in dfs.namenode.shared.edits.dir: "
            "qjournal://host:8485;host:8485;host:8485/JOURNAL. Read from hadoop_conf_dir."
        },
    )
    edits_dir: str = field(
        default="",
        metadata={
            "help": "Directory of the edits of the NameNode on this host: `current` in one of dfs.namenode.edits.dir."
        },
    )

    def __post_init__(self) -> None:
        if self.edits_source not in {INOTIFY, JOURNALNODES, DIRECTORY, AUTO, FEED}:
            raise SettingError(
                "edits_source",
                self.edits_source,
                f"must be {INOTIFY}, {JOURNALNODES}, {DIRECTORY}, {AUTO} or, for a publisher, {FEED}",
            )
        if self.edits_dir and not self.edits_dir.startswith("/"):
            raise SettingError("edits_dir", self.edits_dir, "must be an absolute path")
        if self.edits_source == DIRECTORY and not self.edits_dir:
            raise SettingError("edits_source", DIRECTORY, "needs the directory: edits_dir")
        if self.shared_edits_dir and self.edits_source in {JOURNALNODES, AUTO}:
            parse_quorum_journal("shared_edits_dir", self.shared_edits_dir)
        if not self.shared_edits_dir and self.edits_source == JOURNALNODES:
            raise SettingError(
                "edits_source",
                JOURNALNODES,
                "needs the JournalNodes: shared_edits_dir, or hadoop_conf_dir with dfs.namenode.shared.edits.dir",
            )

    @property
    def journal(self) -> QuorumJournal | None:
        """The JournalNodes to read; None if `edits_source` does not include them, or none are known."""
        if not self.shared_edits_dir or self.edits_source not in {JOURNALNODES, AUTO}:
            return None
        return parse_quorum_journal("shared_edits_dir", self.shared_edits_dir)

    @property
    def directory(self) -> str:
        """The directory of a NameNode to read; "" if `edits_source` does not include it, or none is known."""
        return self.edits_dir if self.edits_source in {DIRECTORY, AUTO} else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSettings:
    """Where the feed of a namespace in ZooKeeper is. Raises SettingError: a value is outside its allowed range."""

    feed_root: str = field(
        default=DEFAULT_ROOT,
        metadata={"help": "Root znode of a namespace in ZooKeeper: zookeeper_root of nncache namenode."},
    )

    def __post_init__(self) -> None:
        if not self.feed_root.startswith("/") or self.feed_root.endswith("/"):
            raise SettingError(
                "feed_root", self.feed_root, f"must be the path of a znode, such as {DEFAULT_ROOT}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """How changes are received."""

    channel: str = field(
        default="",
        metadata={
            "help": "Source of changes: zookeeper (from a publisher), direct (the proxy reads the NameNode's edits "
            "itself), feed (the proxy watches what nncache namenode writes to ZooKeeper), or package.module:Class, an "
            "InotifyEventInputStream.",
            "default": f"{ZOOKEEPER} if `zookeeper` is given, else {DIRECT}",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingSettings:
    """How hard polling may load the NameNode. Raises SettingError: a value is outside its allowed range."""

    poll_interval_s: float = field(
        default=0.01,
        metadata={"help": "Seconds between two polls of the edits while no new ones arrive."},
    )
    poll_budget_share: float = field(
        default=0.05,
        metadata={"help": "Share, 0 to 1, of one NameNode core that polling may use in the long run."},
    )
    poll_budget_burst_s: float = field(
        default=4.0,
        metadata={"help": "Seconds of one NameNode core that polling may use at once after a quiet time."},
    )
    roll_after_txids: int = field(
        default=10_000,
        metadata={
            "help": "Number of transactions in the NameNode's open edit segment after which rollEdits is called (a "
            "tenth of it while polling uses up its budget). Each poll that finds something reads that segment from its "
            "start."
        },
    )
    roll_interval_s: float = field(
        default=3.0,
        metadata={"help": "Minimum seconds between two calls of rollEdits. 0: it is never called."},
    )

    def __post_init__(self) -> None:
        if not self.poll_interval_s > 0:
            raise SettingError("poll_interval_s", self.poll_interval_s, "must be more than 0 seconds")
        if not 0 < self.poll_budget_share <= 1:
            raise SettingError("poll_budget_share", self.poll_budget_share, "must be more than 0, at most 1")
        if not self.poll_budget_burst_s > 0:
            raise SettingError("poll_budget_burst_s", self.poll_budget_burst_s, "must be more than 0 seconds")
        if not self.roll_after_txids > 0:
            raise SettingError("roll_after_txids", self.roll_after_txids, "must be more than 0")
        if not self.roll_interval_s >= 0:
            raise SettingError("roll_interval_s", self.roll_interval_s, "must be 0 seconds or more")


_T = TypeVar("_T")


def load_class(key: str, name: str, built_in: Mapping[str, str], base: type[_T]) -> type[_T]:
    """Return the class that the setting `key` names, as a key of `built_in` or as `package.module:Class`.

    Raises:
        SettingError: there is no such class, or it is not a subclass of `base`.
    """
    allowed = f"must be {', '.join(built_in)} or package.module:Class, an {base.__name__}"
    module_name, colon, class_name = built_in.get(name, name).partition(":")
    if not (module_name and colon and class_name):
        raise SettingError(key, name, allowed)
    try:
        loaded = getattr(importlib.import_module(module_name), class_name, None)
    except Exception as exc:  # a foreign module may raise anything when it is imported
        raise SettingError(key, name, f"{allowed} ({type(exc).__name__}: {exc})") from exc
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise SettingError(key, name, allowed)
    return loaded
