"""Settings: where ZooKeeper is, and how long it may be silent. (coordination/settings.py)"""

import re
from dataclasses import dataclass, field

from nncache.hadoop.addresses import split_address
from nncache.hadoop.settings import SettingError

_ROOT = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings:
    """One ZooKeeper ensemble, and the place in its tree.

    Raises:
        SettingError: a value is outside what its key allows.
    """

    zookeeper: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Addresses of the ZooKeeper servers, host:port each."},
    )
    zookeeper_root: str = field(
        default="/HDFSInotifyRoot",
        metadata={"help": "Znode below which the nameservices are; publishers and readers must agree on it."},
    )
    zookeeper_session_timeout_s: float = field(
        default=6.0,
        metadata={
            "help": "ZooKeeper session timeout in seconds; the server may grant another "
            "(at least two of its ticks)."
        },
    )

    def __post_init__(self) -> None:
        for address in self.zookeeper:
            server, slash, chroot = address.partition("/")
            if slash:
                raise SettingError(
                    "zookeeper",
                    address,
                    f"must be host:port alone, such as {server}; the znode below which all is comes from "
                    f"zookeeper_root (--zookeeper-root), such as /{chroot.strip('/') or 'HDFSInotifyRoot'}",
                )
            try:
                split_address(address)
            except ValueError as exc:
                raise SettingError("zookeeper", address, str(exc)) from exc
        if not _ROOT.fullmatch(self.zookeeper_root):
            raise SettingError(
                "zookeeper_root", self.zookeeper_root, "must be an absolute path such as /HDFSInotifyRoot"
            )
        if not 0 < self.zookeeper_session_timeout_s <= 3600:  # noqa: PLR2004 - an hour
            raise SettingError(
                "zookeeper_session_timeout_s",
                self.zookeeper_session_timeout_s,
                "must be more than 0 seconds, at most 3600",
            )
