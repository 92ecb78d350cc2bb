"""`Cache-Status` tells every reason apart, for callers who may see the path."""

import re

import pytest

from nncache.cache.decisions import MissReason
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.cache_status import COLLAPSED, HIT, Bypass, ForwardReason, forwarded, shows_path
from tests.proxy.doubles import DENIED, FILE, STANDBY

# RFC 9211, section 2: a list member is a token with parameters; `fwd` takes one of these tokens.
_MEMBER = re.compile(
    rb"nncache(; hit|; fwd=(bypass|method|uri-miss|vary-miss|miss|request|stale|partial)"
    rb"(; stored)?(; collapsed)?(; detail=[a-z][a-z-]*)?)"
)
REASONS: tuple[ForwardReason, ...] = (*MissReason, *Bypass)
OF_THE_PATH: tuple[ForwardReason, ...] = (
    MissReason.MISS,
    MissReason.NO_GRANT,
    MissReason.GRANT_PENDING,
    MissReason.REQUEST,
    MissReason.GATE_CLOSED,
    MissReason.TWO_STEP_WRITE,
    MissReason.WINDOW_TABLE_FULL,
    Bypass.CACHE_ERROR,
)


@pytest.mark.parametrize("why", REASONS)
def test_every_reason_is_in_the_table(why: ForwardReason) -> None:
    """A new reason in the cache must not make a reply fail."""
    for is_stored in (False, True):
        name, text = forwarded(why, is_shown=True, is_stored=is_stored)
        assert name == b"Cache-Status"
        assert _MEMBER.fullmatch(text)
        assert (b"; stored" in text) is is_stored


def test_no_two_reasons_look_the_same() -> None:
    """A caller who may see the path can tell all reasons apart."""
    fields = [HIT, COLLAPSED, *(forwarded(why, is_shown=True) for why in REASONS)]
    assert len(set(fields)) == len(fields)
    assert all(_MEMBER.fullmatch(text) for _, text in fields)


def test_cache_status_leaks_nothing_of_a_hidden_path() -> None:
    """ProvenGrant: all reasons that depend on the state of a path have the same text."""
    assert {forwarded(why, is_shown=False) for why in OF_THE_PATH} == {
        (b"Cache-Status", b"nncache; fwd=miss")
    }


@pytest.mark.parametrize("why", sorted(set(REASONS) - set(OF_THE_PATH)))
def test_what_follows_from_request_and_settings_is_shown_to_all(why: ForwardReason) -> None:
    """Operators and clients can see why a kind of call is never a hit."""
    assert forwarded(why, is_shown=False) == forwarded(why, is_shown=True)


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (200, FILE, True),
        (200, None, True),
        (404, render_missing("/w/f"), True),
        (404, b"<html>", False),
        (404, None, False),
        (404, DENIED, False),
        (403, DENIED, False),
        (403, STANDBY, False),
        (307, None, False),
        (503, None, False),
    ],
)
def test_only_a_status_and_a_true_404_show_a_path(status: int, body: bytes | None, shown: bool) -> None:
    """A refusal, an error or a reply of another server says nothing about the path."""
    assert shows_path(status, body) is shown
