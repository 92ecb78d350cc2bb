"""nncache's own daemons as processes next to the cluster, started as an operator would start them."""

import http.client
import json
import os
import re
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import quote

from nncache.testbed import readiness
from nncache.testbed.asker import Asker
from nncache.testbed.ports import PortLease
from nncache.testbed.process import Lifeline, Running, ServerProcess

_ASK_TIMEOUT_S = 5.0
_ADMIN = "--admin"
_LISTEN = "--listen"
_LABEL = re.compile(r'[a-z_]+="[^"]*"')
_SAMPLE = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)$", re.MULTILINE)


class Program(Running):
    """A running `nncache ...` with its own log; it stops with the `with` block, or with this process."""

    def __init__(
        self,
        *typed: str,
        is_up: Callable[[], bool],
        start_timeout_s: float = 30.0,
        name: str = "",
        program: tuple[str, ...] = (),
        close: ExitStack | None = None,
    ) -> None:
        """Prepare the program without starting it; `start()` or a `with` block starts it.

        Args:
            typed: its command and arguments.
            is_up: returns whether the program is up.
            start_timeout_s: timeout of the start, and of each later wait.
            name: its name in messages; empty: `nncache` and its command.
            program: the words before its arguments; none: the `nncache` of this environment.
            close: resources to close with it.
        """
        self.typed = typed  # the words that an operator would type after `nncache`
        with close or ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nncache-")))
            lifeline = Lifeline(directory / "guard.lock", None)
            stack.callback(lifeline.close)
            self.process = ServerProcess(
                name or f"nncache {typed[0]}",
                (*(program or (str(Path(sys.executable).with_name("nncache")),)), *typed),
                log=directory / f"{name or typed[0]}.log",
                environ=os.environ,
                lifeline=lifeline,
                is_up=is_up,
                timeout_s=start_timeout_s,
            )
            self._close = stack.pop_all()

    def start(self) -> Self:
        """Start or restart the program, and wait until it is up."""
        try:
            self.process.start()
        except BaseException:
            self.process.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the program and wait for its end. May be called again."""
        self.process.stop()

    def kill(self) -> None:
        """Kill the program (SIGKILL), as in a crash."""
        self.process.kill()

    def close(self) -> None:
        """Stop the program and remove its files; it cannot be started again. May be called again."""
        self.stop()
        self._close.close()


def _leased(number: int) -> tuple[ExitStack, list[str]]:
    """Return this number of free ports, and the stack that releases them."""
    with ExitStack() as close:
        ports = close.enter_context(PortLease())
        taken = [str(ports.take()) for _ in range(number)]
        return close.pop_all(), taken


class LightClusterProgram(Program):
    """A running `nncache cluster --light` on free ports; it is up when its NameNode is active. See `Program`.

    Attributes:
        http: address of its NameNode's web port, "host:port".
        rpc: address of its NameNode's RPC port.
    """

    def __init__(self, *arguments: str) -> None:
        """Prepare it without starting it; `start()` or a `with` block starts it. `arguments` are further flags."""
        close, (http, rpc) = _leased(2)
        self.http, self.rpc = f"127.0.0.1:{http}", f"127.0.0.1:{rpc}"
        super().__init__(
            *("cluster", "--light", "--port", http, "--rpc-port", rpc, *arguments),
            is_up=lambda: readiness.namenode_state(self.http) == "active",
            close=close,
        )


class OwnNameNode(Program):
    """A running `nncache namenode` on free ports; it is up when it is active or standby. See `Program`.

    Attributes:
        http: address of its web port, "host:port".
        rpc: address of its RPC port.
        admin: address of its admin pages.
    """

    def __init__(self, *arguments: str) -> None:
        """Prepare it without starting it; `start()` or a `with` block starts it. `arguments` name the ZooKeeper."""
        close, ports = _leased(3)
        self.http, self.rpc, self.admin = (f"127.0.0.1:{port}" for port in ports)
        super().__init__(
            *("namenode", "--port", ports[0], "--rpc-port", ports[1], _ADMIN, self.admin, *arguments),
            is_up=lambda: readiness.namenode_state(self.http) in {"active", "standby"},
            close=close,
        )


class OwnDataNode(Program):
    """A running `nncache datanode` on a free port, with its own directory; see `Program`."""

    def __init__(self, *arguments: str) -> None:
        """Prepare it without starting it; `start()` or a `with` block starts it. `arguments` name the ZooKeeper."""
        close, (port,) = _leased(1)
        directory = close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-datanode-"))
        self.http = f"127.0.0.1:{port}"  # address of its web port, "host:port"
        super().__init__(
            *("datanode", "--port", port, "--directory", directory, *arguments),
            is_up=lambda: readiness.accepts(self.http),
            close=close,
        )


class Daemon(Program):
    """A daemon on free ports.

    It may be stopped, killed and restarted at any time. It keeps its addresses, settings and log until `close()` or
    the end of the `with` block.
    """

    command: ClassVar[str]
    own_addresses: ClassVar[tuple[str, ...]] = ()
    """Flags that take a listening address, in addition to `--admin`."""

    def __init__(self, *arguments: str, program: tuple[str, ...] = ()) -> None:
        """Prepare the daemon without starting it; `start()` or a `with` block starts it.

        `arguments` are its flags other than the listening addresses.
        """
        flags = (*self.own_addresses, _ADMIN)
        close, ports = _leased(len(flags))
        self._addresses = {flag: f"127.0.0.1:{port}" for flag, port in zip(flags, ports, strict=True)}
        self.admin = self._addresses[_ADMIN]  # address of its admin pages, "host:port"
        own = (word for flag_and_address in self._addresses.items() for word in flag_and_address)
        super().__init__(
            *(self.command, *own, *arguments),
            is_up=lambda: self.is_up(self.readiness()),
            program=program,
            close=close,
        )

    @abstractmethod
    def is_up(self, readiness: dict[str, Any]) -> bool:
        """Return whether the daemon is up, by its page /ready; the page is empty if it does not answer."""

    def readiness(self) -> dict[str, Any]:
        """Return the page /ready; empty if the daemon does not answer."""
        try:
            return dict(json.loads(self._page("/ready")))
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def metrics(self, timeout_s: float = _ASK_TIMEOUT_S) -> dict[str, float]:
        """Return the values on its metrics page, by name and by name with one label (`name{label="value"}`).

        Each value is the sum over all other labels.
        """
        sums: dict[str, float] = {}
        for sample in _SAMPLE.finditer(self._page("/metrics", timeout_s).decode()):
            name, value = sample["name"], float(sample["value"])
            labels = _LABEL.findall(sample["labels"] or "")
            for key in (name, *(f"{name}{{{label}}}" for label in labels)):
                sums[key] = sums.get(key, 0.0) + value
        return sums

    def _page(self, target: str, timeout_s: float = _ASK_TIMEOUT_S) -> bytes:
        with Asker(self.admin, timeout_s=timeout_s) as asker:
            return asker.ask("GET", target).body


class ProxyDaemon(Daemon):
    """An `nncache proxy`; it is up when it forwards calls. See `Daemon`."""

    command = "proxy"
    own_addresses = (_LISTEN,)

    def is_up(self, readiness: dict[str, Any]) -> bool:
        """Return whether the proxy forwards calls, by its page /ready."""
        return readiness.get("ready") is True

    @property
    def address(self) -> str:
        """The address for clients, "host:port"."""
        return self._addresses[_LISTEN]

    def await_gate(self, *, is_open: bool = True) -> None:
        """Wait until the proxy answers from memory or, with `is_open=False`, until it forwards every call."""
        self.process.await_that(
            lambda: self.readiness().get("is_gate_open") is is_open,
            "does not answer from memory" if is_open else "still answers from memory",
        )

    def explain(self, path: str) -> dict[str, Any]:
        """Return the proxy's page /explain for a path."""
        return dict(json.loads(self._page("/explain?path=" + quote(path))))


class PublisherDaemon(Daemon):
    """An `nncache publisher`; it is up when it serves its pages, with or without a ZooKeeper. See `Daemon`."""

    command = "publisher"

    def is_up(self, readiness: dict[str, Any]) -> bool:
        """Return whether the publisher serves the page /ready."""
        return "ready" in readiness

    def await_publishing(self) -> None:
        """Wait until the publisher publishes."""
        self.process.await_that(lambda: self.readiness().get("ready") is True, "does not publish")


class Subscriber(Program):
    """A running `nncache watch FILTER --json`; it is up when it follows its filter. See `Program`.

    `arguments` are further flags.
    """

    def __init__(self, filter_name: str, *arguments: str) -> None:
        """Prepare the subscriber without starting it; `start()` or a `with` block starts it."""
        super().__init__(
            *("watch", filter_name, "--json", *arguments),
            is_up=lambda: any("after" in line for line in self.lines()),
        )

    def lines(self) -> tuple[dict[str, Any], ...]:
        """Return the JSON lines that it has printed so far; none after it is closed."""
        try:
            printed = self.process.log.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        whole = printed[: printed.rfind("\n") + 1]
        return tuple(json.loads(line) for line in whole.splitlines() if line.startswith("{"))

    def last_words(self) -> str:
        """Return the last meaningful lines of its log."""
        return self.process.last_words()

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return the events that it has printed, with Hadoop's field names: `type`, `path`, ..."""
        return tuple(line for line in self.lines() if "type" in line)

    def gaps(self) -> tuple[dict[str, Any], ...]:
        """Return the gaps that it has printed."""
        return tuple(line for line in self.lines() if "gap" in line)

    def await_that(self, question: Callable[["Subscriber"], bool], otherwise: str) -> None:
        """Wait until `question` is true; `otherwise` completes the error message of a timeout."""
        self.process.await_that(lambda: question(self), otherwise)
