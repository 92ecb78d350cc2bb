"""A ResourceManager's REST API with the pages that a reaper requests.

tests/registry/test_real_yarn.py compares its replies with those of a real one.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from tests.http_server import Answer, serving

API: Final = "/ws/v1/cluster"


def milliseconds_ago(seconds: float) -> int:
    """Return a time in milliseconds since 1970."""
    return int((datetime.now(UTC) - timedelta(seconds=seconds)).timestamp() * 1000)


@dataclass
class FakeResourceManager:
    """Its state; a test may change it at any time."""

    url: str = ""
    ha_state: str = "ACTIVE"
    started_on: int = field(default_factory=lambda: milliseconds_ago(3600))  # the time when it became active
    applications: dict[str, str] = field(default_factory=dict)  # states by id
    attempts: dict[str, str] = field(default_factory=dict)  # the same
    containers: dict[str, str] = field(default_factory=dict)  # a real one forgets those that are complete
    wraps: bool = True  # a container is an object in another one: in Hadoop 3.5.0, not in 3.4.1
    redirect: str = ""  # the URL to which a standby redirects
    odd: dict[str, tuple[int, bytes]] = field(default_factory=dict)  # other replies to some pages
    asked: list[str] = field(default_factory=list)  # the requested targets, below API
    before: Callable[[str], None] = lambda _: None  # called before each answer, with the page

    def answer(self, target: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, header fields and body."""
        target = target.removeprefix(API)
        self.asked.append(target)
        page = target.partition("?")[0]
        self.before(page)
        if page in self.odd:
            status, body = self.odd[page]
            return status, {}, body
        if self.ha_state != "ACTIVE" and page != "/info":
            location = {"Location": f"{self.redirect}{API}{page}"} if self.redirect else {"Refresh": "5"}
            return 307, location, b"This is standby RM. The redirect url is: /"
        status, document = self._document(page)
        return status, {"Content-Type": "application/json;charset=utf-8"}, json.dumps(document).encode()

    def _document(self, page: str) -> tuple[int, dict[str, Any]]:
        match page.split("/")[1:]:
            case ["info"]:
                info = {"id": self.started_on, "startedOn": self.started_on, "haState": self.ha_state}
                return 200, {"clusterInfo": info}
            case ["metrics"]:
                return 200, {"clusterMetrics": {}}
            case ["apps", application, *_] if application not in self.applications:
                return _missing(f"app with id: {application} not found")
            case ["apps", application]:
                state = self.applications[application]
                return 200, {"app": {"id": application, "state": state, "clusterId": self.started_on}}
            case ["apps", application, "appattempts"]:
                of_it = application.replace("application", "appattempt")
                listed = [
                    {"appAttemptId": attempt, "appAttemptState": state}
                    for attempt, state in self.attempts.items()
                    if attempt.startswith(of_it)
                ]
                return 200, {"appAttempts": {"appAttempt": listed} if listed else {}}
            case ["apps", _, "appattempts", attempt, "containers", container]:
                if attempt not in self.attempts:
                    return _missing(f"ApplicationAttempt with id '{attempt}' doesn't exist in RM.")
                if container not in self.containers:
                    return _missing(f"Container with id '{container}' doesn't exist in RM.")
                state = self.containers[container]
                described = {"containerId": container, "containerState": state}
                return 200, {"container": described} if self.wraps else described
            case _:
                return _missing("HTTP 404 Not Found")


def _missing(message: str) -> tuple[int, dict[str, Any]]:
    java = "org.apache.hadoop.yarn.webapp.NotFoundException"
    return 404, {
        "RemoteException": {"exception": "NotFoundException", "message": message, "javaClassName": java}
    }


@contextmanager
def served(manager: FakeResourceManager) -> Iterator[FakeResourceManager]:
    """Serve it from a thread, for clients in this and other processes, and set its `url`."""

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        status, fields, body = manager.answer(request.path)
        return status, fields, body

    with serving(answer, awaits_replies=True) as address:
        manager.url = f"http://{address}"
        yield manager
