"""A standalone ZooKeeper: a cluster's, or one of its own that a test may break."""

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
"""Of a zxid; what stands above them is the epoch (org.apache.zookeeper.server.util.ZxidUtils)."""


class ZooKeeper:
    """A standalone ZooKeeper: where it listens, its process and its data.

    Sessions that have not expired go on when it is started again: ZooKeeper keeps them in its data.
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
        """Write its configuration and lay it out without starting it.

        `ensemble` are the lines of zoo.cfg by which it finds the other servers; none: it is alone. `version` is that
        of ZooKeeper; None: the one that the Hadoop release has.
        """
        self.address = ports.address  # of the client port, "host:port"
        self.secure_address = ports.secure_address  # of that with TLS; empty: ZooKeeper has no such port
        self.data = place.data / name  # the directory of its snapshots and its log of transactions
        jaas_file = place.conf_dir / f"{name}-jaas.conf"
        written = (*lines(ports), *ensemble)
        configuration = write_zookeeper_configuration(place.conf_dir, self.data, ports.address, written)
        jaas_file.touch(mode=0o600)  # passwords of users may be in it
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
        """End it and delete all that it knows, as an administrator who sets up another one would."""
        self.process.kill()
        shutil.rmtree(self.data, ignore_errors=True)

    def writes(self) -> int:
        """Count the write transactions so far, in the present epoch. Starts at 0 when it is wiped.

        A multi is one, and so are the beginning and the end of a session and a write that was refused.

        Raises:
            OSError: it does not serve.
        """
        found = _ZXID.search(four_letters.ask(self.address, "srvr"))
        if found is None:
            raise ConnectionError(f"{self.address} does not serve yet")
        return int(found[1], 16) & ((1 << _COUNTER_BITS) - 1)

    def monitored(self, name: str) -> int:
        """Return a figure of `mntr`: zk_watch_count, or zk_global_sessions, those without a connection included.

        Raises:
            OSError: it does not serve.
        """
        for line in four_letters.ask(self.address, "mntr").splitlines():
            key, _, value = line.partition("\t")
            if key == name:
                return int(float(value))
        raise ConnectionError(f"{self.address} does not serve yet, or has no figure {name}")
