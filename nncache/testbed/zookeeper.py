"""A standalone ZooKeeper: a cluster's, or one of its own that a test may break."""

import shutil
from dataclasses import replace
from pathlib import Path

from nncache.testbed import four_letters, java, readiness
from nncache.testbed.configuration import write_zookeeper_configuration
from nncache.testbed.jars import ZOOKEEPER_SERVER
from nncache.testbed.process import ServerProcess
from nncache.testbed.spec import SMALL_JVM
from nncache.testbed.workplace import Workplace
from nncache.testbed.zookeeper_security import ClientPorts, jaas, lines, options


class ZooKeeper:
    """A standalone ZooKeeper: where it listens, its process and its data."""

    def __init__(self, address: str, process: ServerProcess, data: Path, *, secure_address: str = "") -> None:
        self.address = address  # of the client port, "host:port"
        self.secure_address = secure_address  # of the client port with TLS; empty: ZooKeeper has no such port
        self.process = process
        self.data = data  # the directory of its snapshots and its log of transactions

    @classmethod
    def in_workplace(
        cls,
        place: Workplace,
        ports: ClientPorts,
        jvm: tuple[str, ...] = SMALL_JVM,
        *,
        name: str = "zookeeper",
        ensemble: tuple[str, ...] = (),
        version: str | None = None,
    ) -> "ZooKeeper":
        """Write its configuration and lay it out without starting it.

        `ensemble` are the lines of zoo.cfg by which it finds the other servers; none: it is alone. `version` is that
        of ZooKeeper; None: the one that the Hadoop release has.
        """
        data = place.data / name
        jaas_file = place.conf_dir / f"{name}-jaas.conf"
        written = (*lines(ports), *ensemble)
        configuration = write_zookeeper_configuration(place.conf_dir, data, ports.address, written)
        jaas_file.touch(mode=0o600)  # passwords of users may be in it
        jaas_file.write_text(jaas(ports), encoding="utf-8")
        main = java.ZOOKEEPER_PEER if ensemble else java.ZOOKEEPER
        if version is not None:
            main = java.unshaded(main)
            place = replace(place, runtime=java.installed(version, pom_file=ZOOKEEPER_SERVER))
        process = place.server(
            name,
            main,
            str(configuration),
            is_up=lambda: readiness.zookeeper_is_up(ports.address),
            jvm=(*options(ports, jaas_file), *jvm),
        )
        return ZooKeeper(ports.address, process, data, secure_address=ports.secure_address)

    def stop(self) -> None:
        """Ask it to end and wait for that. Port and data stay; `start_again` brings it back."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL). What it acknowledged is in its log of transactions."""
        self.process.kill()

    def start_again(self) -> None:
        """Start it on the same port with the data that is there, and wait until it serves.

        Sessions that have not expired go on: ZooKeeper keeps them in its data.
        """
        self.process.start()

    def wipe(self) -> None:
        """End it and delete all that it knows, as an administrator who sets up another one would."""
        self.kill()
        shutil.rmtree(self.data, ignore_errors=True)

    def writes(self) -> int:
        """Count the write transactions so far: see `four_letters.transactions`. Starts at 0 when it is wiped.

        Raises:
            OSError: it does not serve.
        """
        return four_letters.transactions(self.address)

    def sessions(self) -> int:
        """Count the sessions that have not ended, those without a connection included.

        Raises:
            OSError: it does not serve.
        """
        return four_letters.monitored(self.address, "zk_global_sessions")

    def watches(self) -> int:
        """Count the watches of all sessions.

        Raises:
            OSError: it does not serve.
        """
        return four_letters.monitored(self.address, "zk_watch_count")
