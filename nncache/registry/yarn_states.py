"""Judges by the ResourceManager's answers whether an application, an attempt or a container has ended.

Sans-I/O: `judge` returns a verdict, or the page that must be read first. Sources, Hadoop 3.5.0 and 3.4.1:
RMWebServices and its AppInfo, AppAttemptInfo, ContainerInfo and ClusterInfo; ClientRMService; and
`ResourceManager.startActiveServices`, which sets the cluster's timestamp: `startedOn` of an active ResourceManager is
the time when it became active.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from nncache.registry.limits import APPLICATION, APPLICATION_ATTEMPT, CONTAINER

INFO: Final = "/info"  # each ResourceManager answers this page itself, also as a standby

ACTIVE: Final = "ACTIVE"

_APPLICATION: Final = r"(?P<timestamp>[1-9][0-9]{0,18})_(?P<number>[0-9]{4,10})"
_IDS: Final[Mapping[str, re.Pattern[str]]] = {
    APPLICATION: re.compile(f"application_{_APPLICATION}"),
    APPLICATION_ATTEMPT: re.compile(f"appattempt_{_APPLICATION}_(?P<attempt>[0-9]{{6,10}})"),
    CONTAINER: re.compile(rf"container_(?:e[0-9]+_)?{_APPLICATION}_(?P<attempt>[0-9]{{2,10}})_[0-9]{{6,19}}"),
}
"""The format of yarn:id, by yarn:persistence (ApplicationId, ApplicationAttemptId, ContainerId of Hadoop 3.5.0)."""

_ENDED: Final = frozenset({"FINISHED", "FAILED", "KILLED"})
"""Values of YarnApplicationState and YarnApplicationAttemptState."""

_RUNNING: Final = "RUNNING"
_APPLICATION_RUNS: Final = frozenset({"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", _RUNNING})
_ATTEMPT_RUNS: Final = frozenset(
    {"NEW", "SUBMITTED", "SCHEDULED", "ALLOCATED_SAVING", "ALLOCATED", "LAUNCHED", _RUNNING, "FINISHING"}
)
_CONTAINER_RUNS: Final = frozenset({"NEW", _RUNNING})
_CONTAINER_ENDED: Final = frozenset({"COMPLETE"})

_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class RmReply:
    """A reply of the ResourceManager."""

    status: int
    body: bytes
    at_ms: int = 0  # its time by the Date field, milliseconds since 1970; 0 if unknown


@dataclass(frozen=True, slots=True)
class RmUnanswered:
    """There was no reply, or none from an active ResourceManager."""

    why: str


RmAnswer: TypeAlias = RmReply | RmUnanswered


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """A ResourceManager, as its information page describes it."""

    is_active: bool
    started_on: int  # timestamp of its ids: when it became active, milliseconds since 1970
    active_s: float  # for how long it has been active by its own clock; 0 if unknown


@dataclass(frozen=True, slots=True)
class UnknownIdTerms:
    """The operator's decision about ids that the ResourceManager does not know."""

    forgotten: frozenset[int] = frozenset()  # timestamps of this cluster's ids: such an unknown id has ended
    settle_s: float = 600.0  # if the ResourceManager is active for less, an unknown id proves nothing


@dataclass(frozen=True, slots=True)
class HasEnded:
    """The owner has ended."""

    why: str


@dataclass(frozen=True, slots=True)
class Runs:
    """The owner has not ended."""

    why: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nothing proves that the owner has ended."""

    why: str


Verdict: TypeAlias = HasEnded | Runs | Undecided


@dataclass(frozen=True, slots=True)
class PageNeeded:
    """A page below /ws/v1/cluster that must be read first."""

    page: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    id: str
    state: str  # empty where the release has none


def manager_of(answer: RmAnswer) -> Manager | Undecided:
    """Return the ResourceManager that a server's `INFO` page describes."""
    if isinstance(answer, RmUnanswered):
        return Undecided(answer.why)
    info = _part(answer, "clusterInfo")
    state, started_on = info.get("haState"), info.get("startedOn")
    if answer.status != HTTPStatus.OK or not isinstance(state, str) or type(started_on) is not int:
        return Undecided(f"it is no ResourceManager: its page {INFO} has status {answer.status}")
    active_s = max(0, answer.at_ms - started_on) / _MS
    return Manager(is_active=state == ACTIVE, started_on=started_on, active_s=active_s)


def judge(
    policy: str, yarn_id: str, manager: Manager, answers: Mapping[str, RmAnswer], terms: UnknownIdTerms
) -> Verdict | PageNeeded:
    """Judge whether a record's owner has ended, by its yarn:persistence (not permanent) and its yarn:id.

    `answers` are the active ResourceManager's answers, by page.
    """
    if policy not in _IDS:
        return Undecided(
            f"its yarn:persistence is {policy!r}, which must be one of permanent, {', '.join(_IDS)}"
        )
    found = _IDS[policy].fullmatch(yarn_id)
    if found is None:
        return Undecided(
            f"its yarn:id is {yarn_id!r}, which is no id that goes with yarn:persistence {policy}"
        )
    application = f"application_{found['timestamp']}_{found['number']}"
    of_application = _of_application(application, int(found["timestamp"]), manager, answers, terms)
    if policy == APPLICATION or not isinstance(of_application, Runs):
        return of_application
    page = f"/apps/{application}/appattempts"
    if page not in answers:
        return PageNeeded(page)
    attempts = _attempts(answers[page], application)
    if isinstance(attempts, Undecided):
        return attempts
    if policy == APPLICATION_ATTEMPT:
        return _of_attempt(yarn_id, int(found["attempt"]), attempts)
    attempt = int(found["attempt"])
    if attempt not in attempts:
        return Undecided(f"the ResourceManager does not know attempt {attempt} of {application}")
    page = f"{page}/{attempts[attempt].id}/containers/{yarn_id}"
    if page not in answers:
        return PageNeeded(page)
    return _of_container(yarn_id, of_application, answers[page], manager, terms)


def _of_application(
    application: str, timestamp: int, manager: Manager, answers: Mapping[str, RmAnswer], terms: UnknownIdTerms
) -> Verdict | PageNeeded:
    page = f"/apps/{application}"
    if page not in answers:
        return PageNeeded(page)
    answer = answers[page]
    if isinstance(answer, RmUnanswered):
        return Undecided(answer.why)
    if _is_unknown(answer):
        return _of_forgotten(application, timestamp, manager, terms)
    described = _part(answer, "app")
    if answer.status != HTTPStatus.OK or described.get("id") != application:
        return _odd(application, answer)
    if described.get("clusterId") != manager.started_on:
        return Undecided("another ResourceManager has answered than the one that was found to be active")
    return _by_state(application, _text(described.get("state")), _APPLICATION_RUNS)


def _of_forgotten(application: str, timestamp: int, manager: Manager, terms: UnknownIdTerms) -> Verdict:
    """Judge an application that the ResourceManager does not know: it ended long ago, or is of another cluster."""
    unknown = f"the ResourceManager does not know {application}"
    if timestamp not in terms.forgotten:
        return Undecided(
            f"{unknown}: it ended long ago, or is of another cluster; if ids with {timestamp} are of this cluster, "
            f"add {timestamp} to yarn_forgotten"
        )
    return _settled(f"{unknown}, and yarn_forgotten has {timestamp}", manager, terms)


def _settled(why: str, manager: Manager, terms: UnknownIdTerms) -> Verdict:
    """Return HasEnded, unless the ResourceManager has been active for too short a time to know everything."""
    if manager.active_s < terms.settle_s:
        return Undecided(
            f"{why}, but it has been active for {manager.active_s:.0f} of {terms.settle_s:g} s only"
        )
    return HasEnded(why)


def _attempts(answer: RmAnswer, application: str) -> Mapping[int, _Attempt] | Undecided:
    """Return an application's attempts, by number."""
    if isinstance(answer, RmUnanswered):
        return Undecided(answer.why)
    listed = _part(answer, "appAttempts").get("appAttempt")
    if answer.status != HTTPStatus.OK or not isinstance(listed, list):
        return _odd(f"the attempts of {application}", answer)
    attempts: dict[int, _Attempt] = {}
    for row in listed:
        yarn_id = _text(row.get("appAttemptId")) if isinstance(row, dict) else ""
        found = _IDS[APPLICATION_ATTEMPT].fullmatch(yarn_id)
        if found is None or f"application_{found['timestamp']}_{found['number']}" != application:
            return _odd(f"the attempts of {application}", answer)
        attempts[int(found["attempt"])] = _Attempt(yarn_id, _text(row.get("appAttemptState")))
    return attempts


def _of_attempt(yarn_id: str, number: int, attempts: Mapping[int, _Attempt]) -> Verdict:
    """Judge an attempt. It has ended if a later attempt exists, whatever its own state is."""
    later = next((each for other, each in sorted(attempts.items()) if other > number), None)
    if later is not None:
        return HasEnded(f"{later.id} has followed {yarn_id}")
    if number not in attempts:
        return Undecided(f"the ResourceManager does not know {yarn_id}")
    return _by_state(yarn_id, attempts[number].state, _ATTEMPT_RUNS)


def _of_container(
    container: str, of_application: Runs, answer: RmAnswer, manager: Manager, terms: UnknownIdTerms
) -> Verdict:
    """Judge a container of a known attempt; the ResourceManager forgets a completed container immediately."""
    if isinstance(answer, RmUnanswered):
        return Undecided(answer.why)
    if _is_unknown(answer):
        why = f"{container} is no live container, while {of_application.why}"
        if not of_application.why.endswith(_RUNNING):
            return Undecided(f"{why}: its containers may be handed over to the next attempt")
        return _settled(why, manager, terms)
    described = _part(answer, "container") or _document(answer)  # Hadoop 3.5.0; 3.4.1
    if answer.status != HTTPStatus.OK or described.get("containerId") != container:
        return _odd(container, answer)
    return _by_state(container, _text(described.get("containerState")), _CONTAINER_RUNS, _CONTAINER_ENDED)


def _by_state(what: str, state: str, runs: frozenset[str], ended: frozenset[str] = _ENDED) -> Verdict:
    if state in ended:
        return HasEnded(f"{what} is {state}")
    if state in runs:
        return Runs(f"{what} is {state}")
    return Undecided(f"{what} is in the unknown state {state!r}")


def _odd(what: str, answer: RmReply) -> Undecided:
    message = _text(_part(answer, "RemoteException").get("message"))
    says = f"asked for {what}, the ResourceManager answers with status {answer.status}"
    return Undecided(f"{says}: {message}" if message else f"{says}, and not with what it was asked for")


def _is_unknown(answer: RmReply) -> bool:
    """Whether the ResourceManager itself reports the id as unknown; a 404 of another server proves nothing."""
    is_missing = answer.status == HTTPStatus.NOT_FOUND
    return is_missing and _part(answer, "RemoteException").get("exception") == "NotFoundException"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _part(answer: RmReply, name: str) -> Mapping[str, Any]:
    """Return an object in the JSON of a reply; empty if there is none."""
    part = _document(answer).get(name)
    return part if isinstance(part, dict) else {}


def _document(answer: RmReply) -> Mapping[str, Any]:
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
