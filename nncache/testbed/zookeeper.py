"""A standalone ZooKeeper: a cluster's, or one of its own that a test may break."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from nncache.testbed import four_letters, java, readiness
from nncache.testbed.configuration import write_zookeeper_configuration
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, ZOOKEEPER_SERVER
from nncache.testbed.own_user import own_user
from nncache.testbed.ports import PortLease
from nncache.testbed.process import ServerProcess
from nncache.testbed.running import Running
from nncache.testbed.spec import SMALL_JVM, ZooKeeperSecurity
from nncache.testbed.workplace import Workplace, workplace
from nncache.testbed.zookeeper_security import ClientPorts, Places, jaas, lines, options

_START_TIMEOUT_S = 60.0


class ZooKeeper:
    """A standalone ZooKeeper: where it listens, its process and its data.

    Attributes:
        address: of the client port, "host:port".
        secure_address: of the client port with TLS; empty: there is none.
        data: the directory of its snapshots and its log of transactions.
    """

    def __init__(self, address: str, process: ServerProcess, data: Path, *, secure_address: str = "") -> None:
        self.address = address
        self.secure_address = secure_address
        self.process = process
        self.data = data

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

        Raises:
            TestbedError: the jars of that version are missing.
        """
        data = place.data / name
        security, address = ports.security, ports.address
        places = Places(kdc=ports.kdc, authority=ports.authority, jaas=place.conf_dir / f"{name}-jaas.conf")
        own = lines(security, ports.secure_address, places)
        configuration = write_zookeeper_configuration(place.conf_dir, data, address, (*own, *ensemble))
        places.jaas.touch(mode=0o600)  # passwords of users may be in it
        places.jaas.write_text(jaas(security, places), encoding="utf-8")
        main = java.ZOOKEEPER_PEER if ensemble else java.ZOOKEEPER
        if version is not None:
            main = java.unshaded(main)
            place = replace(place, runtime=java.installed(version, pom_file=ZOOKEEPER_SERVER))
        process = place.server(
            name,
            main,
            str(configuration),
            is_up=lambda: readiness.zookeeper_is_up(address),
            jvm=(*options(security, places), *jvm),
        )
        return ZooKeeper(address, process, data, secure_address=ports.secure_address)

    def stop(self) -> None:
        """Ask it to end and wait for that. Port and data stay; `start_again` brings it back."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL). What it acknowledged is in its log of transactions."""
        self.process.kill()

    def start_again(self) -> None:
        """Start it on the same port with the data that is there, and wait until it serves.

        Sessions that have not expired go on: ZooKeeper keeps them in its data.

        Raises:
            StartError: it ended, or does not serve in time.
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


@contextmanager
def temporary_place(name: str, hadoop_version: str) -> Iterator[tuple[Workplace, PortLease]]:
    """Yield a temporary directory for ZooKeepers from the jars of that release, and ports for them.

    Raises:
        TestbedError: Java, Maven or the jars are missing.
    """
    runtime = java.installed(hadoop_version)
    with (
        workplace(runtime, name, directory=None, user=own_user(), start_timeout_s=_START_TIMEOUT_S) as place,
        PortLease() as ports,
    ):
        yield place, ports


class ZooKeeperServer(ZooKeeper, Running):
    """A ZooKeeper of its own: a free port and a temporary directory, for as long as the `with` block lasts.

    It also ends when this process does, in whatever way (see `nncache.testbed.guard`).
    """

    def __init__(
        self,
        *,
        hadoop_version: str = DEFAULT_HADOOP_VERSION,
        version: str | None = None,
        security: ZooKeeperSecurity = ZooKeeperSecurity(),  # noqa: B008 - a frozen value
        kdc: Path = Path(),
        authority: Path = Path(),
    ) -> None:
        """Lay it out without starting it; the `with` block does.

        The release says whose jars it comes from, unless there is a `version` of ZooKeeper. `kdc` is the directory of a
        KDC that has zookeeper/localhost and its keytab, `authority` that of a certificate authority that has issued to
        `https.SERVER`.

        Raises:
            TestbedError: Java, Maven or the jars are missing, or no port is free.
        """
        self._close = ExitStack()
        with ExitStack() as undo:
            undo.callback(self._close.close)
            place, ports = self._close.enter_context(temporary_place("zookeeper", hadoop_version))
            client_ports = ClientPorts.leased(ports, security, kdc=kdc, authority=authority)
            laid_out = ZooKeeper.in_workplace(place, client_ports, version=version)
            undo.pop_all()
        super().__init__(
            laid_out.address, laid_out.process, laid_out.data, secure_address=laid_out.secure_address
        )

    def start(self) -> None:
        """Start it and wait until it serves.

        Raises:
            StartError: it ended, or does not serve in time.
        """
        self.process.start()

    def close(self) -> None:
        """End it, give its port back and remove its directory. May be called again."""
        self.process.kill()  # its data will not be read again
        self._close.close()
