"""nncache's own daemons as processes beside the cluster, started as an operator would start them."""

import http.client
import json
import os
import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from testbed.ports import PortLease
from testbed.process import Lifeline, ServerProcess

_ASK_TIMEOUT_S = 5.0
_SAMPLE = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)$", re.MULTILINE)


class Proxy:
    """A running `nncache proxy`; ends with the `with` block, or with this process.

    `arguments` are the flags of `nncache proxy` beside the addresses of its own two ports.
    """

    def __init__(self, *arguments: str, start_timeout_s: float = 30.0) -> None:
        """Lay it out on two free ports without starting it; `start()` or a `with` block does."""
        self._close = ExitStack()
        with ExitStack() as undo:
            undo.callback(self._close.close)
            directory = Path(self._close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-")))
            ports = self._close.enter_context(PortLease())
            self.address = f"127.0.0.1:{ports.take()}"
            self.admin = f"127.0.0.1:{ports.take()}"
            lifeline = Lifeline(directory / "guard.lock", None)
            self._close.callback(lifeline.close)
            command = (
                *(str(Path(sys.executable).with_name("nncache")), "proxy"),
                *("--listen", self.address, "--admin", self.admin),
                *arguments,
            )
            self.process = ServerProcess(
                "nncache proxy",
                command,
                log=directory / "proxy.log",
                environ=os.environ,
                lifeline=lifeline,
                is_up=lambda: self.readiness().get("ready") is True,
                timeout_s=start_timeout_s,
            )
            undo.pop_all()

    def start(self) -> Self:
        """Start it and wait until it serves.

        Raises:
            StartError: it ended, or is not ready in time; the end of its log is told.
        """
        try:
            self.process.start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ask it to end, wait for that, and remove its log. May be called again."""
        self.process.stop()
        self._close.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def await_gate(self, *, is_open: bool = True) -> None:
        """Wait until it answers from memory or, with `is_open=False`, until it forwards everything.

        Raises:
            StartError: neither came in time.
        """
        self.process.await_that(
            lambda: self.readiness().get("is_gate_open") is is_open,
            "does not answer from memory" if is_open else "still answers from memory",
        )

    def readiness(self) -> dict[str, Any]:
        """Return the page /ready; empty while there is none."""
        try:
            return dict(json.loads(self._page("/ready")))
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def explain(self, path: str) -> dict[str, Any]:
        """Return what it knows of a path."""
        return dict(json.loads(self._page("/explain?path=" + quote(path))))

    def metrics(self) -> dict[str, float]:
        """Return all samples of its metrics page, summed over their labels."""
        sums: dict[str, float] = {}
        for sample in _SAMPLE.finditer(self._page("/metrics").decode()):
            sums[sample["name"]] = sums.get(sample["name"], 0.0) + float(sample["value"])
        return sums

    def _page(self, target: str) -> bytes:
        connection = http.client.HTTPConnection(self.admin, timeout=_ASK_TIMEOUT_S)
        try:
            connection.request("GET", target)
            return connection.getresponse().read()
        finally:
            connection.close()
