"""nncache's own daemons as processes beside the cluster, started as an operator would start them."""

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
    """A running `nncache ...` with a log of its own; ends with the `with` block, or with this process."""

    def __init__(
        self,
        *typed: str,
        is_up: Callable[[], bool],
        start_timeout_s: float = 30.0,
        name: str = "",
        program: tuple[str, ...] = (),
        close: ExitStack | None = None,
    ) -> None:
        """Lay it out without starting it; `start()` or a `with` block does.

        Args:
            typed: its command and arguments.
            is_up: whether it is.
            start_timeout_s: for the start, and for all that is awaited.
            name: in messages; empty: `nncache` and its command.
            program: the words before its arguments; none: the `nncache` of this environment.
            close: what ends with it.
        """
        self.typed = typed  # what an operator would type after `nncache`
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
        """Start it, the first time or again, and wait until it is up."""
        try:
            self.process.start()
        except BaseException:
            self.process.stop()
            raise
        return self

    def stop(self) -> None:
        """Ask it to end and wait for that. May be called again."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL)."""
        self.process.kill()

    def close(self) -> None:
        """Stop it and remove what is its own; it can't be started again. May be called again."""
        self.stop()
        self._close.close()


def _leased(number: int) -> tuple[ExitStack, list[str]]:
    """Return so many free ports, and what gives them back."""
    with ExitStack() as close:
        ports = close.enter_context(PortLease())
        taken = [str(ports.take()) for _ in range(number)]
        return close.pop_all(), taken


class LightCluster(Program):
    """A running `nncache cluster --light` on free ports; it is up when its NameNode is active. See `Program`.

    Attributes:
        http: address of its NameNode's web port, "host:port".
        rpc: that of its RPC.
    """

    def __init__(self, *arguments: str) -> None:
        """Lay it out without starting it; `start()` or a `with` block does. `arguments` are further flags."""
        close, (http, rpc) = _leased(2)
        self.http, self.rpc = f"127.0.0.1:{http}", f"127.0.0.1:{rpc}"
        super().__init__(
            *("cluster", "--light", "--port", http, "--rpc-port", rpc, *arguments),
            is_up=lambda: readiness.namenode_state(self.http) == "active",
            close=close,
        )


class OwnNameNode(Program):
    """A running `nncache namenode` on free ports; it is up when it says which state it is in. See `Program`.

    Attributes:
        http: address of its web port, "host:port".
        rpc: that of its RPC.
        admin: that of its pages.
    """

    def __init__(self, *arguments: str) -> None:
        """Lay it out without starting it; `start()` or a `with` block does. `arguments` say where ZooKeeper is."""
        close, ports = _leased(3)
        self.http, self.rpc, self.admin = (f"127.0.0.1:{port}" for port in ports)
        super().__init__(
            *("namenode", "--port", ports[0], "--rpc-port", ports[1], _ADMIN, self.admin, *arguments),
            is_up=lambda: readiness.namenode_state(self.http) in {"active", "standby"},
            close=close,
        )


class OwnDataNode(Program):
    """A running `nncache datanode` on a free port, with a directory of its own; see `Program`."""

    def __init__(self, *arguments: str) -> None:
        """Lay it out without starting it; `start()` or a `with` block does. `arguments` say where ZooKeeper is."""
        close, (port,) = _leased(1)
        directory = close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-datanode-"))
        self.http = f"127.0.0.1:{port}"  # address of its web port, "host:port"
        super().__init__(
            *("datanode", "--port", port, "--directory", directory, *arguments),
            is_up=lambda: readiness.accepts(self.http),
            close=close,
        )


class Daemon(Program):
    """A daemon on free ports of its own.

    It may be stopped, killed and started again at any time: address, settings and log stay until `close()`, or the
    end of the `with` block.
    """

    command: ClassVar[str]
    own_addresses: ClassVar[tuple[str, ...]] = ()
    """Flags that take an address to listen on, beside that of its own pages."""

    def __init__(self, *arguments: str, program: tuple[str, ...] = ()) -> None:
        """Lay it out without starting it; `start()` or a `with` block does.

        `arguments` are its flags beside the addresses of its own ports.
        """
        flags = (*self.own_addresses, _ADMIN)
        close, ports = _leased(len(flags))
        self._addresses = {flag: f"127.0.0.1:{port}" for flag, port in zip(flags, ports, strict=True)}
        self.admin = self._addresses[_ADMIN]  # where its own pages are, "host:port"
        own = (word for flag_and_address in self._addresses.items() for word in flag_and_address)
        super().__init__(
            *(self.command, *own, *arguments),
            is_up=lambda: self.is_up(self.readiness()),
            program=program,
            close=close,
        )

    @abstractmethod
    def is_up(self, readiness: dict[str, Any]) -> bool:
        """Judge its page /ready; empty while it does not answer."""

    def readiness(self) -> dict[str, Any]:
        """Return the page /ready; empty while there is none."""
        try:
            return dict(json.loads(self._page("/ready")))
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def metrics(self, timeout_s: float = _ASK_TIMEOUT_S) -> dict[str, float]:
        """Return the samples of its metrics page: by name, and by name and one label (`name{label="value"}`).

        Each is the sum over all other labels.
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


class Proxy(Daemon):
    """A `nncache proxy`; it is up when it forwards calls. See `Daemon`."""

    command = "proxy"
    own_addresses = (_LISTEN,)

    def is_up(self, readiness: dict[str, Any]) -> bool:
        """Return whether it forwards calls, by its page /ready."""
        return readiness.get("ready") is True

    @property
    def address(self) -> str:
        """Where clients ask, "host:port"."""
        return self._addresses[_LISTEN]

    def await_gate(self, *, is_open: bool = True) -> None:
        """Wait until it answers from memory or, with `is_open=False`, until it forwards everything."""
        self.process.await_that(
            lambda: self.readiness().get("is_gate_open") is is_open,
            "does not answer from memory" if is_open else "still answers from memory",
        )

    def explain(self, path: str) -> dict[str, Any]:
        """Return what it knows of a path."""
        return dict(json.loads(self._page("/explain?path=" + quote(path))))


class Publisher(Daemon):
    """A `nncache publisher`; it is up when its pages are there, with or without a ZooKeeper. See `Daemon`."""

    command = "publisher"

    def is_up(self, readiness: dict[str, Any]) -> bool:
        """Return whether it has a page /ready."""
        return "ready" in readiness

    def await_publishing(self) -> None:
        """Wait until it publishes."""
        self.process.await_that(lambda: self.readiness().get("ready") is True, "does not publish")


class Subscriber(Program):
    """A running `nncache watch FILTER --json`; it is up when it follows its filter. See `Program`.

    `arguments` are its flags beside the filter's name and `--json`.
    """

    def __init__(self, filter_name: str, *arguments: str) -> None:
        """Lay it out without starting it; `start()` or a `with` block does."""
        super().__init__(
            *("watch", filter_name, "--json", *arguments),
            is_up=lambda: any("after" in line for line in self.lines()),
        )

    def lines(self) -> tuple[dict[str, Any], ...]:
        """Return what it has printed so far; empty when nothing, or when it is closed."""
        try:
            printed = self.process.log.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        whole = printed[: printed.rfind("\n") + 1]
        return tuple(json.loads(line) for line in whole.splitlines() if line.startswith("{"))

    def last_words(self) -> str:
        """Return the last lines that say something."""
        return self.process.last_words()

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return the events among it, in Hadoop's words: `type`, `path`, ..."""
        return tuple(line for line in self.lines() if "type" in line)

    def gaps(self) -> tuple[dict[str, Any], ...]:
        """Return the gaps among it."""
        return tuple(line for line in self.lines() if "gap" in line)

    def await_that(self, question: Callable[["Subscriber"], bool], otherwise: str) -> None:
        """Wait until it is so of what it has printed."""
        self.process.await_that(lambda: question(self), otherwise)
