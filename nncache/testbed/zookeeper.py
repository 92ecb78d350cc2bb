"""A ZooKeeper server: a cluster's, a separate one that a test may break, or a member of an ensemble."""

import re
import shutil
from dataclasses import replace
from typing import Final

from nncache.testbed import four_letters, java, readiness
from nncache.testbed.configuration import write_zookeeper_configuration
from nncache.testbed.jars import ZOOKEEPER_SERVER
from nncache.testbed.spec import SMALL_JVM
from nncache.testbed.workplace import Workplace
from nncache.testbed.zookeeper_security import ClientPorts, jaas, lines, options

_ZXID: Final = re.compile(r"^Zxid: 0x([0-9a-f]+)$", re.MULTILINE)
_COUNTER_BITS: Final = 32
"""The low bits of a zxid; the higher bits are the epoch (org.apache.zookeeper.server.util.ZxidUtils)."""


class ZooKeeperProcess:
    """A ZooKeeper server: its addresses, its process and its data.

    Sessions that have not expired survive a restart: ZooKeeper keeps them in its data.
    """

    def __init__(
        self,
        place: Workplace,
        ports: ClientPorts,
        jvm: tuple[str, ...] = SMALL_JVM,
        *,
        name: str = "zookeeper",
        ensemble: tuple[str, ...] = (),
        version: str | None = None,
    ) -> None:
        """Write the configuration without starting the server.

        `ensemble` are the lines of zoo.cfg that name the other servers; none: a standalone server. `version` is a
        ZooKeeper release; None: the one in the Hadoop release.
        """
        self.address = ports.address  # of the client port, "host:port"
        self.secure_address = ports.secure_address  # of the client port with TLS; empty: none
        self.data = place.data / name  # the directory of its snapshots and its transaction log
        jaas_file = place.conf_dir / f"{name}-jaas.conf"
        written = (*lines(ports), *ensemble)
        configuration = write_zookeeper_configuration(place.conf_dir, self.data, ports.address, written)
        jaas_file.touch(mode=0o600)  # it may hold users' passwords
        jaas_file.write_text(jaas(ports), encoding="utf-8")
        main = java.ZOOKEEPER_PEER if ensemble else java.ZOOKEEPER
        if version is not None:
            main = java.unshaded(main)
            place = replace(place, runtime=java.installed(version, pom_file=ZOOKEEPER_SERVER))
        self.process = place.server(
            name,
            main,
            str(configuration),
            is_up=lambda: readiness.zookeeper_is_up(ports.address),
            jvm=(*options(ports, jaas_file), *jvm),
        )

    def wipe(self) -> None:
        """Kill the server and delete its data, as an administrator who sets up a new one would."""
        self.process.kill()
        shutil.rmtree(self.data, ignore_errors=True)

    def writes(self) -> int:
        """Return the number of write transactions in the current epoch; a wipe resets it to 0.

        A multi counts once. The start and the end of a session count, and so does a refused write.

        Raises:
            OSError: the server does not serve clients.
        """
        found = _ZXID.search(four_letters.ask(self.address, "srvr"))
        if found is None:
            raise ConnectionError(f"{self.address} does not serve yet")
        return int(found[1], 16) & ((1 << _COUNTER_BITS) - 1)

    def monitored(self, name: str) -> int:
        """Return a figure of `mntr`, such as zk_watch_count, or zk_global_sessions, which includes disconnected ones.

        Raises:
            OSError: the server does not serve clients, or has no such figure.
        """
        for line in four_letters.ask(self.address, "mntr").splitlines():
            key, _, value = line.partition("\t")
            if key == name:
                return int(float(value))
        raise ConnectionError(f"{self.address} does not serve yet, or has no figure {name}")
