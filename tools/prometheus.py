"""A Prometheus beside the cluster that scrapes servers of it."""

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
    """A series that a query has answered with."""

    labels: Mapping[str, str]  # of the series
    points: tuple[tuple[float, float], ...]  # Unix time and value, oldest first; no NaN


class Prometheus(Program):
    """One on a free port, for as long as the `with` block lasts; what it has scraped goes with it."""

    def __init__(
        self,
        targets: Sequence[str],
        rules: str = "",
        *,
        interval: str = "5s",
        discovered_at: str | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Lay it out without starting it; the `with` block does.

        Args:
            targets: "host:port" of the servers, all of the job `nncache`.
            rules: the text of a file of recording and alert rules.
            interval: between two scrapes, two evaluations of the rules and two questions of what to scrape, as
                Prometheus writes it.
            discovered_at: a URL that says what else to scrape (HTTP service discovery).
            flags: further ones of the program.
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
        """End it at once: its data will not be read again."""
        self.kill()

    def await_targets(self) -> None:
        """Wait until each target has been scraped."""
        self.process.await_that(
            lambda: self.healthy_targets() == self._targets, f"has not scraped all {self._targets} targets"
        )

    def healthy_targets(self) -> int:
        """Return how many targets the last scrape succeeded of."""
        return sum(each["health"] == "up" for each in self._answer("targets").get("activeTargets", ()))

    def targets(self) -> set[str]:
        """Return "host:port" of all that is scraped now."""
        return {each["labels"]["instance"] for each in self._answer("targets").get("activeTargets", ())}

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        alerts = self._answer("alerts").get("alerts", ())
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def lines(self, expression: str, start: float, end: float, step_s: float) -> tuple[Line, ...]:
        """Return what a query has had as its answers between two Unix times; series without a number are none.

        Raises:
            ValueError: Prometheus refuses the query; with its words.
        """
        found = self._answer("query_range", query=expression, start=start, end=end, step=step_s)
        return tuple(line for line in map(_line, found["result"]) if line.points)

    def now(self) -> float:
        """Return its Unix time."""
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
