"""A Prometheus that scrapes servers of the cluster."""

import http.client
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from nncache.testbed.asker import Asker
from nncache.testbed.daemon import Program
from nncache.testbed.ports import PortLease
from nncache.testbed.programs import find_program

_START_TIMEOUT_S = 60.0
_RULES = "rules.yml"


@dataclass(frozen=True, slots=True)
class Line:
    """A series in the answer to a query."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]  # Unix time and value, oldest first; no NaN


class Prometheus(Program):
    """A Prometheus on a free port, which runs during a `with` block; its data are removed at the end."""

    def __init__(
        self,
        targets: Sequence[str],
        rules: str = "",
        *,
        interval: str = "5s",
        discovered_at: str | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Prepare it without starting it; the `with` block starts it.

        Args:
            targets: "host:port" of the servers, all in the job `nncache`.
            rules: the content of a file of recording and alert rules.
            interval: interval of scrapes, rule evaluations and service discovery, in Prometheus's format.
            discovered_at: the URL of an HTTP service discovery of further targets.
            flags: further flags of the program.
        """
        program, close = find_program("prometheus"), ExitStack()
        self._targets = len(targets)
        directory = Path(close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-")))
        # of its API and pages, "host:port"
        self.address = f"127.0.0.1:{close.enter_context(PortLease()).take()}"
        (directory / _RULES).write_text(rules, encoding="utf-8")
        configuration = directory / "prometheus.yml"
        written = json.dumps(_configuration(targets, interval, discovered_at))  # JSON is YAML, too
        configuration.write_text(written, encoding="utf-8")
        super().__init__(
            f"--config.file={configuration}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={self.address}",
            *flags,
            name="prometheus",
            program=(program,),
            is_up=self._is_up,
            start_timeout_s=_START_TIMEOUT_S,
            close=close,
        )

    def stop(self) -> None:
        """Kill it: its data will not be read again."""
        self.kill()

    def await_targets(self) -> None:
        """Wait until each target has been scraped."""
        self.process.await_that(
            lambda: self.healthy_targets() == self._targets, f"has not scraped all {self._targets} targets"
        )

    def healthy_targets(self) -> int:
        """Return the number of targets whose last scrape succeeded."""
        return sum(each["health"] == "up" for each in self._answer("targets").get("activeTargets", ()))

    def targets(self) -> set[str]:
        """Return "host:port" of all current targets."""
        return {each["labels"]["instance"] for each in self._answer("targets").get("activeTargets", ())}

    def firing(self) -> set[str]:
        """Return the names of the firing alerts."""
        alerts = self._answer("alerts").get("alerts", ())
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def lines(self, expression: str, start: float, end: float, step_s: float) -> tuple[Line, ...]:
        """Return the series of a range query between two Unix times, without series that hold no number.

        Raises:
            ValueError: Prometheus refuses the query; the text includes its message.
        """
        found = self._answer("query_range", query=expression, start=start, end=end, step=step_s)
        return tuple(line for line in map(_line, found["result"]) if line.points)

    def now(self) -> float:
        """Return Prometheus's current Unix time."""
        at, _ = self._answer("query", query="time()")["result"]
        return float(at)

    def _is_up(self) -> bool:
        try:
            with Asker(self.address) as asker:
                return asker.ask("GET", "/-/ready").status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def _answer(self, what: str, **query: str | float) -> dict[str, Any]:
        with Asker(self.address) as asker:
            reply = asker.ask("GET", f"/api/v1/{what}?{urlencode(query)}")
        answer = json.loads(reply.body)
        if answer["status"] != "success":
            raise ValueError(f"Prometheus refuses {what} {query}: {answer.get('error')}")
        return dict(answer["data"])


def _configuration(targets: Sequence[str], interval: str, discovered_at: str | None) -> dict[str, object]:
    job: dict[str, object] = {"job_name": "nncache", "static_configs": [{"targets": list(targets)}]}
    if discovered_at is not None:
        job["http_sd_configs"] = [{"url": discovered_at, "refresh_interval": interval}]
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
        "rule_files": [_RULES],
        "scrape_configs": [job],
    }


def _line(series: dict[str, Any]) -> Line:
    points = ((float(at), float(value)) for at, value in series["values"])
    return Line(series["metric"], tuple((at, value) for at, value in points if not math.isnan(value)))
