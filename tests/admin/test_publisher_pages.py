"""The pages of a publisher's admin port."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from nncache.admin.publisher_pages import PublisherReadiness, PublisherSources, publisher_pages
from nncache.admin.server import PageContent

READY = PublisherReadiness(
    is_publishing=True,
    is_zookeeper_connected=True,
    active="nn1:9870",
    published_txid=7,
    state="publishing 2 filters, up to transaction 7",
)
WAITING = replace(READY, is_publishing=False)


def shown(readiness: PublisherReadiness, link: str) -> PageContent:
    """Return what a page shows."""
    filters: Mapping[str, object] = {"published": [{"name": "a"}], "broken": {"b": "no glob"}}
    sources = PublisherSources(
        readiness=lambda: readiness,
        metrics=lambda: b"polls_total 1\n",
        filters=lambda: filters,
        status=lambda: {"daemon": "publisher"},
    )
    pages = {page.link: page for page in publisher_pages(sources)}
    return pages[link].show({})


def test_the_pages_are_those_of_any_daemon_and_the_filters() -> None:
    """Nothing is explained here: a publisher caches nothing."""
    sources = PublisherSources(readiness=lambda: READY, metrics=lambda: b"", filters=dict, status=dict)
    assert [page.link for page in publisher_pages(sources)] == [
        "/health",
        "/ready",
        "/metrics",
        "/filters",
        "/status",
    ]


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
    """A publisher that stands by is alive and not ready."""
    status = 503 if reason else 200
    answer = shown(readiness, "/ready")
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


def test_filters_are_shown_as_json() -> None:
    """What is published, and what cannot be."""
    assert json.loads(shown(READY, "/filters").body) == {
        "published": [{"name": "a"}],
        "broken": {"b": "no glob"},
    }


def test_the_status_is_shown_as_json() -> None:
    """For the page at `/`."""
    assert json.loads(shown(READY, "/status").body) == {"daemon": "publisher"}


def test_the_filters_are_for_operators() -> None:
    """They show globs, owners and subscribers; so does the status, and settings."""
    nothing = PublisherSources(readiness=lambda: READY, metrics=lambda: b"", filters=dict, status=dict)
    assert [page.link for page in publisher_pages(nothing) if page.is_for_operators] == [
        "/filters",
        "/status",
    ]
