"""What a ResourceManager's replies prove. Their formats are those of tests/registry/fake_resource_manager.py."""

import json
from typing import Any

import pytest

from nncache.registry.yarn_states import (
    HasEnded,
    Manager,
    PageNeeded,
    RmAnswer,
    RmReply,
    RmUnanswered,
    Runs,
    Undecided,
    UnknownIdTerms,
    Verdict,
    judge,
    manager_of,
)

STARTED = 1_795_643_495_309
APPLICATION = f"application_{STARTED}_0002"
ATTEMPT = f"appattempt_{STARTED}_0002_000001"
CONTAINER = f"container_e17_{STARTED}_0002_01_000003"
ABOUT_APPLICATION = f"/apps/{APPLICATION}"
ABOUT_ATTEMPTS = f"{ABOUT_APPLICATION}/appattempts"
ABOUT_CONTAINER = f"{ABOUT_ATTEMPTS}/{ATTEMPT}/containers/{CONTAINER}"
MANAGER = Manager(is_active=True, started_on=STARTED, active_s=3600.0)
TERMS = UnknownIdTerms()
ANSWER_OF: dict[str, Any] = {"id": APPLICATION, "state": "RUNNING", "clusterId": STARTED}
UNKNOWN = RmReply(404, b'{"RemoteException": {"exception": "NotFoundException", "message": "app not found"}}')
SILENT = RmUnanswered("http://rm1:8088 does not answer")


def reply(document: object, status: int = 200) -> RmReply:
    """Return a reply with this JSON."""
    return RmReply(status, json.dumps(document).encode())


def application(**fields: object) -> RmReply:
    """Return the reply about the application."""
    return reply({"app": ANSWER_OF | fields})


def attempts(*listed: tuple[int, object]) -> RmReply:
    """Return the reply about its attempts."""
    rows = [{"appAttemptId": f"{ATTEMPT[:-1]}{number}", "appAttemptState": state} for number, state in listed]
    return reply({"appAttempts": {"appAttempt": rows}})


def container(**fields: object) -> RmReply:
    """Return the reply about the container."""
    return reply({"container": {"containerId": CONTAINER, "containerState": "RUNNING"} | fields})


def verdict(
    policy: str,
    yarn_id: str,
    answers: dict[str, RmAnswer],
    terms: UnknownIdTerms = TERMS,
    manager: Manager = MANAGER,
) -> Verdict | PageNeeded:
    """Judge with these replies."""
    return judge(policy, yarn_id, manager, answers, terms)


def undecided(found: object) -> str:
    """Return the reason for a doubt; any other verdict is an error."""
    assert isinstance(found, Undecided), found
    return found.why


@pytest.mark.parametrize(
    ("policy", "yarn_id", "part"),
    [
        ("permanent-ish", APPLICATION, "'permanent-ish', which must be one of permanent, appl"),
        ("application", "", "yarn:id is ''"),
        ("application", CONTAINER, "no id that goes with yarn:persistence application"),
        ("application", f"{APPLICATION}/../x", "no id"),
        ("application", "application_1408631738011_1", "no id"),
        ("application", "application_0_0001", "no id"),
        ("application", f"{APPLICATION}\n", "no id"),
        ("application", "application_١٤٠٨_0001", "no id"),
        ("application-attempt", APPLICATION, "no id"),
        ("container", ATTEMPT, "no id"),
        ("container", "example-0001", "no id"),
    ],
)
def test_what_is_no_id_of_its_kind_is_asked_about_nowhere(policy: str, yarn_id: str, part: str) -> None:
    """This includes an id of another kind: it is unknown whether policy or id is wrong."""
    assert part in undecided(verdict(policy, yarn_id, {}))


@pytest.mark.parametrize(
    ("policy", "yarn_id", "pages"),
    [
        ("application", APPLICATION, [ABOUT_APPLICATION]),
        ("application-attempt", ATTEMPT, [ABOUT_APPLICATION, ABOUT_ATTEMPTS]),
        ("container", CONTAINER, [ABOUT_APPLICATION, ABOUT_ATTEMPTS, ABOUT_CONTAINER]),
    ],
)
def test_pages_are_asked_for_one_by_one(policy: str, yarn_id: str, pages: list[str]) -> None:
    """The container's page is requested only if neither the application nor the attempt decides."""
    known: dict[str, RmAnswer] = {
        ABOUT_APPLICATION: application(),
        ABOUT_ATTEMPTS: attempts((1, "RUNNING")),
        ABOUT_CONTAINER: container(),
    }
    answers: dict[str, RmAnswer] = {}
    for page in pages:
        assert verdict(policy, yarn_id, answers) == PageNeeded(page)
        answers[page] = known[page]
    assert isinstance(verdict(policy, yarn_id, answers), Runs)


@pytest.mark.parametrize(
    ("policy", "yarn_id"),
    [("application", APPLICATION), ("application-attempt", ATTEMPT), ("container", CONTAINER)],
)
@pytest.mark.parametrize("state", ["FINISHED", "FAILED", "KILLED"])
def test_an_application_that_has_ended_ends_all_that_is_of_it(policy: str, yarn_id: str, state: str) -> None:
    """Its attempts and containers are not queried."""
    found = verdict(policy, yarn_id, {ABOUT_APPLICATION: application(state=state)})
    assert found == HasEnded(f"{APPLICATION} is {state}")


@pytest.mark.parametrize("state", ["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"])
def test_an_application_that_has_not_ended(state: str) -> None:
    """These are all other states of YarnApplicationState."""
    found = verdict("application", APPLICATION, {ABOUT_APPLICATION: application(state=state)})
    assert found == Runs(f"{APPLICATION} is {state}")


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (SILENT, "does not answer"),
        (application(state="DONE"), "unknown state 'DONE'"),
        (application(state=None), "unknown state ''"),
        (application(state=["FINISHED"]), "unknown state ''"),
        (application(id=f"application_{STARTED}_0003", state="FINISHED"), "not with what it was asked for"),
        (application(clusterId=STARTED + 1, state="FINISHED"), "another ResourceManager has answered"),
        (RmReply(503, application(state="FINISHED").body), "status 503"),
        (RmReply(200, b'{"app":'), "not with what it was asked for"),
        (RmReply(200, b"[" * 100_000), "not with what it was asked for"),
        (RmReply(200, b"\xff"), "not with what it was asked for"),
        (reply([]), "not with what it was asked for"),
        (reply({"app": []}), "not with what it was asked for"),
        (reply({"RemoteException": {"message": "denied"}}, 403), "status 403: denied"),
        (UNKNOWN, f"add {STARTED} to yarn_forgotten"),
        (RmReply(404, b"<html>nginx"), "status 404"),
        (reply({"RemoteException": {"exception": "AccessControlException"}}, 404), "status 404"),
    ],
)
def test_any_other_answer_about_an_application_proves_nothing(answer: RmAnswer, part: str) -> None:
    """Not even 404: the ResourceManager forgets old applications, and never knew those of another cluster."""
    assert part in undecided(verdict("application", APPLICATION, {ABOUT_APPLICATION: answer}))


def test_the_operator_may_name_ended_applications() -> None:
    """The timestamp of their ids identifies this cluster's; the ResourceManager must have been active for a while."""
    answers: dict[str, RmAnswer] = {ABOUT_APPLICATION: UNKNOWN}
    terms = UnknownIdTerms(frozenset({STARTED}), settle_s=600)
    assert isinstance(verdict("application", APPLICATION, answers, terms), HasEnded)
    assert isinstance(verdict("container", CONTAINER, answers, terms), HasEnded)
    young = Manager(is_active=True, started_on=STARTED, active_s=599.9)
    assert "600 of 600 s only" in undecided(verdict("application", APPLICATION, answers, terms, young))
    assert isinstance(verdict("application", APPLICATION, answers, UnknownIdTerms(frozenset({1}))), Undecided)
    nginx: dict[str, RmAnswer] = {ABOUT_APPLICATION: RmReply(404, b"{}")}
    assert isinstance(verdict("application", APPLICATION, nginx, terms), Undecided)


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([(1, "FINISHED")], HasEnded(f"{ATTEMPT} is FINISHED")),
        ([(1, "FAILED")], HasEnded(f"{ATTEMPT} is FAILED")),
        ([(1, "KILLED")], HasEnded(f"{ATTEMPT} is KILLED")),
        ([(1, "LAUNCHED")], Runs(f"{ATTEMPT} is LAUNCHED")),
        ([(1, "FINISHING")], Runs(f"{ATTEMPT} is FINISHING")),
        ([(2, "RUNNING"), (1, None)], HasEnded(f"{ATTEMPT[:-1]}2 has followed {ATTEMPT}")),
        ([(2, "RUNNING")], HasEnded(f"{ATTEMPT[:-1]}2 has followed {ATTEMPT}")),
        ([], Undecided(f"the ResourceManager does not know {ATTEMPT}")),
        ([(1, None)], Undecided(f"{ATTEMPT} is in the unknown state ''")),
    ],
)
def test_an_attempt_has_ended_by_its_state_or_by_the_next(
    listed: list[tuple[int, object]], found: Verdict
) -> None:
    """Old releases list no states."""
    answers: dict[str, RmAnswer] = {ABOUT_APPLICATION: application(), ABOUT_ATTEMPTS: attempts(*listed)}
    assert verdict("application-attempt", ATTEMPT, answers) == found


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (SILENT, "does not answer"),
        (reply({"appAttempts": {"appAttempt": {}}}), "the attempts of"),
        (reply({"appAttempts": {"appAttempt": [1]}}), "the attempts of"),
        (reply({"appAttempts": {"appAttempt": [{"appAttemptId": "x"}]}}), "the attempts of"),
        (
            reply({"appAttempts": {"appAttempt": [{"appAttemptId": f"appattempt_{STARTED}_0003_000002"}]}}),
            "the attempts of",
        ),
        (RmReply(503, attempts((1, "KILLED")).body), "status 503"),
    ],
)
@pytest.mark.parametrize(("policy", "yarn_id"), [("application-attempt", ATTEMPT), ("container", CONTAINER)])
def test_any_other_answer_about_attempts_proves_nothing(
    answer: RmAnswer, part: str, policy: str, yarn_id: str
) -> None:
    """This includes attempts of another application."""
    answers: dict[str, RmAnswer] = {ABOUT_APPLICATION: application(), ABOUT_ATTEMPTS: answer}
    assert part in undecided(verdict(policy, yarn_id, answers))


def of_container(
    answer: RmAnswer, state: str = "RUNNING", manager: Manager = MANAGER
) -> Verdict | PageNeeded:
    """Judge the container of an application that has not ended."""
    answers: dict[str, RmAnswer] = {
        ABOUT_APPLICATION: application(state=state),
        ABOUT_ATTEMPTS: attempts((1, "FAILED"), (2, "RUNNING")),
        ABOUT_CONTAINER: answer,
    }
    return verdict("container", CONTAINER, answers, manager=manager)


def test_a_container_outlives_its_attempt() -> None:
    """The next attempt may have taken it over (keep-containers-across-application-attempts)."""
    assert of_container(container()) == Runs(f"{CONTAINER} is RUNNING")
    assert of_container(reply({"containerId": CONTAINER, "containerState": "RUNNING"})) == Runs(
        f"{CONTAINER} is RUNNING"
    ), "Hadoop 3.4.1 wraps it in no other object"
    assert of_container(container(containerState="NEW")) == Runs(f"{CONTAINER} is NEW")
    assert of_container(container(containerState="COMPLETE")) == HasEnded(f"{CONTAINER} is COMPLETE")


def test_a_container_has_ended_once_all_nodes_reported() -> None:
    """After a failover the containers of a node are unknown until the node reports them."""
    assert isinstance(of_container(UNKNOWN), HasEnded)
    young = Manager(is_active=True, started_on=STARTED, active_s=20.0)
    assert "active for 20 of 600 s only" in undecided(of_container(UNKNOWN, manager=young))
    assert "handed over to the next attempt" in undecided(of_container(UNKNOWN, state="ACCEPTED"))


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (SILENT, "does not answer"),
        (container(containerState="GONE"), "unknown state 'GONE'"),
        (container(containerId="container_1_0001_01_000001"), "not with what it was asked for"),
        (RmReply(503, container(containerState="COMPLETE").body), "status 503"),
    ],
)
def test_any_other_answer_about_a_container_proves_nothing(answer: RmAnswer, part: str) -> None:
    """The record remains."""
    assert part in undecided(of_container(answer))


def test_containers_of_unknown_attempts_are_not_queried() -> None:
    """The ResourceManager would not show it even if it were running."""
    answers: dict[str, RmAnswer] = {
        ABOUT_APPLICATION: application(),
        ABOUT_ATTEMPTS: attempts((2, "RUNNING")),
    }
    assert "does not know attempt 1 of" in undecided(verdict("container", CONTAINER, answers))


def test_what_a_resource_manager_says_of_itself() -> None:
    """It reports since when it is active, by its own clock."""
    info = {"clusterInfo": {"haState": "ACTIVE", "startedOn": 1_000_000}}
    body = json.dumps(info).encode()
    assert manager_of(RmReply(200, body, 1_090_000)) == Manager(
        is_active=True, started_on=1_000_000, active_s=90.0
    )
    assert manager_of(RmReply(200, body)) == Manager(is_active=True, started_on=1_000_000, active_s=0.0)
    standby = manager_of(reply({"clusterInfo": {"haState": "STANDBY", "startedOn": 1}}))
    assert standby == Manager(is_active=False, started_on=1, active_s=0.0)


@pytest.mark.parametrize(
    "answer",
    [
        reply({}),
        reply({"clusterInfo": {"haState": "ACTIVE", "startedOn": True}}),
        reply({"clusterInfo": {"haState": 1, "startedOn": 1}}),
        RmReply(503, b'{"clusterInfo": {"haState": "ACTIVE", "startedOn": 1}}'),
    ],
)
def test_what_is_no_resource_manager(answer: RmReply) -> None:
    """It reports neither its state nor its start."""
    assert "it is no ResourceManager" in undecided(manager_of(answer))
    assert undecided(manager_of(SILENT)) == SILENT.why
