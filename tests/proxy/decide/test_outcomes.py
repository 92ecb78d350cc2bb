"""How a reply becomes an outcome for the cache: status, body, and whether it proves the caller."""

import json
from dataclasses import replace
from math import inf

import pytest

from nncache.cache import Cacheable, Denied, EntryKind, Failed, OpenFile, Outcome, Unauthenticated, Unchanged
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.decide.outcomes import file_outcome, outcome_of
from nncache.proxy.identity import Credential
from nncache.proxy.messages import UpstreamReply
from tests.cache.cases import ALICE, fetch, fill, make_cache, status
from tests.hadoop.made_credentials import cookie
from tests.proxy.doubles import DENIED, DIRECTORY, FILE, STANDBY, SYMLINK, reply

PATH = "/w/f"
CREDENTIAL = Credential("cookie=digest", "alice", 1_795_305_660_000)
"""It expires 60 s after the `Date` of the replies."""

INVALID_TOKEN = (
    b'{"RemoteException":{"exception":"SecurityException","javaClassName":"java.lang.SecurityException",'
    b'"message":"Failed to obtain user group information: '
    b"org.apache.hadoop.security.token.SecretManager$InvalidToken: Token can't be found in cache\"}}"
)


def outcome_for(
    code: int, body: bytes, credential: Credential | None = None, *, cookies: tuple[bytes, ...] = ()
) -> Outcome | None:
    """Return the outcome of a reply with these cookies and no others."""
    return outcome_of(of(code, body, cookies), PATH, credential, unchanged=None)


def of(code: int, body: bytes, cookies: tuple[bytes, ...] = ()) -> UpstreamReply:
    """Return a reply that sets these cookies."""
    given = reply(code, body, 100.0)
    fields = tuple(field for field in given.headers if field[0] != b"Set-Cookie")
    return replace(given, headers=(*fields, *((b"Set-Cookie", each) for each in cookies)))


@pytest.mark.parametrize(("credential", "proven"), [(None, inf), (CREDENTIAL, 58.0)])
def test_a_proof_lasts_as_long_as_its_credential(credential: Credential | None, proven: float) -> None:
    """The NameNode's own clock counts; without a credential the proof has no expiry."""
    gone, directory, link = (
        outcome_for(code, body, credential)
        for code, body in ((404, render_missing(PATH)), (200, DIRECTORY), (200, SYMLINK))
    )
    assert isinstance(gone, Cacheable)
    assert isinstance(directory, Cacheable)
    assert isinstance(link, OpenFile)
    assert (gone.kind, directory.kind) == (EntryKind.MISSING, EntryKind.DIRECTORY)
    assert {each.proven_for_s for each in (gone, directory, link)} == {proven}
    assert not {name for name, _ in gone.reply.headers} & {b"Date", b"Set-Cookie"}


def test_a_file_is_asked_about_and_then_kept_if_it_is_closed() -> None:
    """OpenFileUncached; both outcomes carry what the reply proves."""
    assert outcome_for(200, FILE, CREDENTIAL) is None
    closed, is_open = (
        file_outcome(of(200, FILE), CREDENTIAL, is_closed=is_closed) for is_closed in (True, False)
    )
    assert isinstance(closed, Cacheable)
    assert isinstance(is_open, OpenFile)
    assert (closed.kind, closed.proven_for_s, is_open.proven_for_s) == (EntryKind.FILE, 58.0, 58.0)
    assert file_outcome(of(200, FILE, (b"a=b",)), CREDENTIAL, is_closed=True) == Failed()


def test_a_file_whose_status_is_kept_need_not_be_asked_about() -> None:
    """The ticket knows the cached status; the reply still proves the caller's right."""
    cache = make_cache()
    fill(cache, "/a/f", ALICE, 1.0, status(1.0, FILE.decode()))
    ticket = fetch(cache, "/a/f", ALICE, 400.0)
    same = outcome_of(of(200, FILE), PATH, CREDENTIAL, unchanged=ticket)
    assert isinstance(same, Unchanged)
    assert same.proven_for_s == 58.0
    assert outcome_of(of(200, FILE.replace(b"1", b"2")), PATH, CREDENTIAL, unchanged=ticket) is None


@pytest.mark.parametrize(
    ("code", "body"), [(404, render_missing(PATH)), (200, DIRECTORY), (200, SYMLINK), (200, FILE)]
)
def test_a_reply_that_sets_a_cookie_proves_no_credential(code: int, body: bytes) -> None:
    """Another credential may have been accepted in its place, or this one ends unless it is renewed."""
    assert outcome_for(code, body, CREDENTIAL, cookies=(cookie(kind="simple"),)) == Failed()


def test_another_kind_of_cookie_is_an_unknown_credential() -> None:
    """A server in front of the NameNode may set such a cookie (JWT)."""
    assert outcome_for(200, DIRECTORY, cookies=(cookie(kind="jwt"),)) == Failed()
    assert isinstance(outcome_for(200, DIRECTORY, cookies=(cookie(kind="simple"),)), Cacheable)


@pytest.mark.parametrize(("code", "body"), [(401, b"<html>"), (403, INVALID_TOKEN)])
def test_a_refused_credential_is_refused_everywhere(code: int, body: bytes) -> None:
    """Without a credential, such a reply says nothing about any caller's rights."""
    assert outcome_for(code, body, CREDENTIAL) == Unauthenticated(100.0)
    assert outcome_for(code, body) == Failed()


@pytest.mark.parametrize("credential", [None, CREDENTIAL])
@pytest.mark.parametrize(
    ("code", "body"),
    [
        (200, b'{"FileStatus":{}}'),
        (200, b""),
        (404, render_missing("/w/other")),
        (404, b"<html>"),
        (403, STANDBY),
        (403, b"no JSON"),
        (503, render_missing(PATH)),
        (307, b""),
        (500, b""),
    ],
)
def test_what_says_nothing_of_the_path_is_a_failure(
    code: int, body: bytes, credential: Credential | None
) -> None:
    """Only a 200, or a `FileNotFoundException` in the words of the active NameNode, is an answer."""
    assert outcome_for(code, body, credential) == Failed()
    assert outcome_for(403, DENIED, credential) == Denied(), "a caller may be refused with any credential"


def test_only_the_root_is_kept_though_it_is_snapshottable() -> None:
    """Every release makes it snapshottable with a quota of 0: `GETFILESTATUS /` always has `snapshotEnabled`."""
    body = DIRECTORY.replace(b'"type"', b'"snapshotEnabled":true,"type"')
    assert json.loads(body)["FileStatus"]["snapshotEnabled"]
    for root in ("/", "", "//"):
        assert isinstance(outcome_of(of(200, body), root, None, unchanged=None), Cacheable)
    assert isinstance(outcome_for(200, body), OpenFile)
