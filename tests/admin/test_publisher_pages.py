"""The pages of a publisher's admin port."""

import json
from dataclasses import replace

import pytest

from nncache.admin.publisher_pages import PublisherReadiness, publisher_pages
from nncache.admin.server import Page

READY = PublisherReadiness(
    is_publishing=True,
    is_zookeeper_connected=True,
    active="nn1:9870",
    published_txid=7,
    state="publishing 2 filters, up to transaction 7",
)
WAITING = replace(READY, is_publishing=False)


def pages(readiness: PublisherReadiness = READY) -> dict[str, Page]:
    """Return the pages by link."""
    made = publisher_pages(
        readiness=lambda: readiness,
        metrics=lambda: b"polls_total 1\n",
        filters=lambda: {"published": [{"name": "a"}], "broken": {"b": "no glob"}},
        status=lambda: {"daemon": "publisher"},
    )
    return {page.link: page for page in made}


def test_pages_of_any_daemon_and_two_for_operators() -> None:
    """They show globs, owners, subscribers and settings. There is no /explain, since a publisher caches nothing."""
    for_operators = {link: page.is_for_operators for link, page in pages().items()}
    own = {"/filters": True, "/status": True}
    assert for_operators == {"/health": False, "/ready": False, "/metrics": False} | own
    assert json.loads(pages()["/filters"].show({}).body)["broken"] == {"b": "no glob"}
    assert json.loads(pages()["/status"].show({}).body) == {"daemon": "publisher"}


@pytest.mark.parametrize(
    ("readiness", "reason"),
    [
        (READY, ""),
        (replace(WAITING, state="waiting for the end of another publisher"), "not-publishing"),
        (replace(WAITING, is_zookeeper_connected=False, active=None, published_txid=-1), "no-zookeeper"),
        (replace(WAITING, active=None), "no-active-namenode"),
        (replace(WAITING, is_zookeeper_connected=None), "not-publishing"),
    ],
)
def test_ready_means_that_changes_are_published(readiness: PublisherReadiness, reason: str) -> None:
    """A standby publisher is alive but not ready."""
    status = 503 if reason else 200
    answer = pages(readiness)["/ready"].show({})
    assert answer.status == status
    assert json.loads(answer.body) == {
        "ready": not reason,
        "reason": reason,
        "is_publishing": readiness.is_publishing,
        "is_zookeeper_connected": readiness.is_zookeeper_connected,
        "active": readiness.active,
        "published_txid": readiness.published_txid,
        "state": readiness.state,
    }
