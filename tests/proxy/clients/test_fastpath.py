"""The table of heads: it matches exactly, serves only what the cache allows, and stores no credential in clear."""

import gc
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.entries import Hit
from nncache.cache.replies import MAX_FIELD_BYTES, StoredReply
from nncache.cache.store import CacheStore
from nncache.hadoop.filestatus import render_missing
from nncache.net.sampling import MAX_EVERY
from nncache.proxy.cache_status import HIT
from nncache.proxy.clients.cached_reply import DateText, HitFrame, cached_reply
from nncache.proxy.clients.fastpath import MAX_FRAMES, MAX_HEAD_BYTES, MAX_TEXTS, FastPath, is_harmless
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import Exchange, Result
from tests.proxy.doubles import fails
from tests.proxy.kept_hits import kept_hit
from tests.proxy.wire import GET, RawClient, serving

FIELDS = ((b"Cache-Control", b"no-cache"), (b"Content-Type", b"application/json"))


def head_for(path: str, *fields: str, query: str = "op=GETFILESTATUS&user.name=joe") -> bytes:
    """Return the head that a client sends."""
    lines = (f"GET /webhdfs/v1{path}?{query} HTTP/1.1", "Host: nn", *fields)
    return "\r\n".join((*lines, "", "")).encode()


HEAD = head_for("/w/f")
LIMITS = LimitSettings()


class Fixture:
    """A fast path with a clock and cache verdicts that the test sets."""

    def __init__(self, max_bytes: int = 10**6, limits: LimitSettings = LIMITS) -> None:
        self.now = 1.0
        self.bad: set[bytes] = set()  # keys of hits that are no longer valid
        self.store = CacheStore(max_bytes=max_bytes, max_items=10**6)
        self.path = FastPath(self._is_good, self.store, lambda: self.now, limits)

    def _is_good(self, hit: Hit, _now: float) -> bool:
        return hit.key not in self.bad

    def missing(self, path: str, head: bytes, as_requested: str = "") -> bytes:
        """Remember a 404; return its body."""
        body = render_missing(as_requested or path)
        self.path.remember(head, kept_hit(self.store, path, StoredReply(404, FIELDS, body)), body)
        return body

    def file(self, path: str, head: bytes, body: bytes = b"{}") -> bytes:
        """Remember a 200; return its body."""
        self.path.remember(head, kept_hit(self.store, path, StoredReply(200, FIELDS, body)), body)
        return body

    def body(self, head: bytes) -> bytes | None:
        """Return the body of the answer, or None."""
        answer = self.path.answer(head)
        self.check()
        return None if answer is None else answer.partition(b"\r\n\r\n")[2]

    def check(self) -> None:
        """Assert all invariants."""
        self.path.check()
        self.store.check()


def test_the_whole_head_counts() -> None:
    """A head that differs in one byte, is longer or shorter, is another request."""
    fixture = Fixture()
    fixture.file("/w/f", HEAD)
    assert fixture.path.answer(HEAD) is not None
    for other in (HEAD[:-1], HEAD + b"\r\n", HEAD.lower(), HEAD * 2, b"", HEAD.replace(b"nn", b"mm")):
        assert fixture.path.answer(other) is None
    assert fixture.path.stats().hits == 1


def test_an_answer_says_whether_its_connection_ends() -> None:
    """F5: the answer's `Connection` field agrees with `ends_connection`."""
    fixture, last = Fixture(), HEAD.replace(b"Host", b"Connection: close\r\nHost")
    hit = kept_hit(fixture.store, "/w/f", StoredReply(200, FIELDS, b"file"))
    fixture.path.remember(last, hit, b"file", is_last=True)
    fixture.path.remember(HEAD, hit, b"file")
    text, ends = fixture.path.answer(last), fixture.path.ends_connection
    ordinary, goes_on = fixture.path.answer(HEAD), not fixture.path.ends_connection
    assert ends
    assert goes_on
    assert text is not None
    assert ordinary is not None
    assert text == ordinary.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    fixture.check()
    fixture.path.forget_all()
    assert fixture.path.answer(last) is None


@pytest.mark.parametrize("spelled", ["/w/f", "//w/f", "/w%2Ff"])
def test_a_404_quotes_the_path_as_it_was_asked_for(spelled: str) -> None:
    """Verbatim. A path that has the same bytes in the head is not stored twice."""
    fixture, head = Fixture(), head_for(spelled)
    body = fixture.missing("/w/f", head, spelled.replace("%2F", "/"))
    assert fixture.body(head) == body
    takes = fixture.path.stats().bytes_held
    assert (takes > 500) == ("%" in spelled), takes


def test_a_404_in_other_words_is_answered_in_these() -> None:
    """The table assumes nothing about the text that the ordinary path sent."""
    fixture = Fixture()
    hit = kept_hit(fixture.store, "/w/f", StoredReply(404, FIELDS, b""))
    for body in (render_missing("/w/g"), b"in other words", b""):
        fixture.path.remember(HEAD, hit, body)
        assert fixture.body(HEAD) == body


def test_a_hit_that_is_no_longer_good_is_forgotten() -> None:
    """The head stays forgotten even if the hit becomes valid again; the ordinary path has to remember it."""
    fixture = Fixture()
    fixture.file("/w/f", HEAD)
    fixture.bad.add(HEAD)
    assert fixture.body(HEAD) is None
    fixture.bad.clear()
    assert fixture.body(HEAD) is None
    assert fixture.path.stats().heads == 0


def test_a_newer_answer_takes_the_place_of_the_older() -> None:
    """One head has one answer, even if the older one was sent in the same second."""
    fixture = Fixture()
    fixture.file("/w/f", HEAD, b"old")
    assert fixture.body(HEAD) == b"old"
    fixture.store.forget_status("/w/f")
    assert fixture.body(HEAD) is None
    fixture.file("/w/f", HEAD, b"new")
    assert fixture.body(HEAD) == b"new"
    assert fixture.path.stats().heads == 1


def test_the_age_and_the_text_move_with_the_seconds() -> None:
    """Within one second, repeated answers are the same object."""
    fixture = Fixture()
    fixture.file("/w/f", HEAD)
    first = fixture.path.answer(HEAD)
    assert first is not None
    assert first is fixture.path.answer(HEAD)
    fixture.now = 9.5
    later = fixture.path.answer(HEAD)
    assert later is not None
    assert b"\r\nAge: 9\r\n" in later
    fixture.now = -1.0
    young = fixture.path.answer(HEAD)
    assert young is not None
    assert b"\r\nAge: 0\r\n" in young, "never negative (RFC 9111, section 5.1)"
    fixture.check()


def test_what_is_kept_for_the_second_is_bounded() -> None:
    """The number of rendered answers is bounded; other answers are rendered each time."""
    fixture = Fixture(max_bytes=10**8)
    heads = [head_for(f"/w/{n}") for n in range(MAX_TEXTS + 10)]
    for n, head in enumerate(heads):
        fixture.missing(f"/w/{n}", head)
        assert fixture.path.answer(head) is not None
    assert fixture.path.answer(heads[0]) is fixture.path.answer(heads[0])
    assert fixture.path.answer(heads[-1]) is not fixture.path.answer(heads[-1])
    fixture.file("/w/large", HEAD, b"x" * 5_000)
    fixture.now = 2.0
    assert fixture.path.answer(HEAD) is not fixture.path.answer(HEAD)
    fixture.check()


@pytest.mark.parametrize(
    "head",
    [
        head_for("/w/f", query="op=GETFILESTATUS&delegation=SECRET"),
        head_for("/w/f", query="op=GETFILESTATUS&user.name=joe&Delegation=SECRET"),
        head_for("/w/f", "Cookie: hadoop.auth=SECRET"),
        head_for("/w/f", "cookie:SECRET"),
        head_for("/w/f", "Accept: */*\nCOOKIE: SECRET"),
        head_for("/w/f", "Authorization: Negotiate SECRET"),
        head_for("/w/f", "proxy-authorization: Basic SECRET"),
        head_for("/w/f", "X-Auth-Token: SECRET"),
        head_for("/w/f", "Referer: http://x/?delegation=SECRET"),
    ],
)
def test_no_credential_is_kept_in_clear(head: bytes) -> None:
    """F1: the memory of the process, or a core dump, contains no earlier token or cookie."""
    fixture = Fixture()
    assert not is_harmless(head)
    body = fixture.missing("/w/f", head)
    assert fixture.body(head) == body, "it takes the quick way all the same"
    assert fixture.body(head.replace(b"SECRET", b"OTHER")) is None
    for key, answer in fixture.store.held.items():
        assert b"SECRET" not in key
        assert all(b"SECRET" not in text for text in gc.get_referents(answer) if isinstance(text, bytes))
    other = Fixture()
    other.missing("/w/f", head)
    assert not set(other.store.held) & set(fixture.store.held), "each process has a secret of its own"


def test_a_head_without_a_credential_is_found_at_once() -> None:
    """Its key is the head itself, so a hit computes no digest."""
    head = head_for("/w/f", "User-Agent: curl/8", "Accept: */*", "Connection: keep-alive")
    fixture = Fixture()
    fixture.missing("/w/f", head)
    assert list(fixture.store.held) == [head]


def test_fields_that_differ_each_time_cost_no_row() -> None:
    """Trace and request ids do not change the question, with or without a credential."""
    for credential in ((), ("Cookie: hadoop.auth=SECRET",)):
        fixture = Fixture()
        body = fixture.missing("/w/f", head_for("/w/f", "traceparent: 1", *credential, "baggage: TOLD"))
        for number in range(50):
            asked = head_for("/w/f", f"TraceParent: {number}", *credential, f"X-Request-Id: {number}")
            assert fixture.body(asked) == body
        assert fixture.body(head_for("/w/f", *credential)) == body
        assert fixture.path.stats().heads == 1
        assert not any(secret in key for key in fixture.store.held for secret in (b"SECRET", b"TOLD"))
        assert fixture.body(head_for("/w/f", *credential, "Cache-Control: no-cache")) is None


def test_what_the_ordinary_path_refuses_is_not_answered() -> None:
    """The ordinary path answers 431 for too many fields or bytes, even if few of the fields matter."""
    fixture = Fixture(limits=LimitSettings(max_header_fields=3, max_head_bytes=1024))
    body = fixture.file("/w/f", HEAD)
    assert fixture.body(head_for("/w/f", "b3: 1", "b3: 2")) == body
    assert fixture.body(head_for("/w/f", "b3: 1", "b3: 2", "b3: 3")) is None
    assert fixture.body(head_for("/w/f", "b3: " + "x" * 1024)) is None


def test_what_would_take_more_than_it_saves_is_not_remembered() -> None:
    """Giant heads, and replies with header fields of their own, would cost more memory than they save work."""
    fixture = Fixture()
    fixture.file("/w/f", head_for("/w/f", "User-Agent: " + "x" * MAX_HEAD_BYTES))
    assert fixture.path.answer(b"x" * (MAX_HEAD_BYTES + 1)) is None
    odd = kept_hit(fixture.store, "/w/g", StoredReply(200, ((b"X", b"x" * MAX_FIELD_BYTES),), b"{}"))
    fixture.path.remember(HEAD, odd, b"{}")
    assert fixture.path.stats().heads == 0
    fixture.check()


def test_frames_are_bounded() -> None:
    """Each flush may bring other header fields."""
    fixture = Fixture(max_bytes=10**8)
    for n in range(MAX_FRAMES + 5):
        fixture.store.forget_all()
        hit = kept_hit(fixture.store, "/w/f", StoredReply(200, ((b"X-Number", b"%d" % n),), b"{}"))
        fixture.path.remember(HEAD, hit, b"{}")
        answer = fixture.path.answer(HEAD)
        assert answer is not None
        assert b"\r\nX-Number: %d\r\n" % n in answer
        fixture.check()


@pytest.mark.parametrize("status", [200, 404])
async def test_both_paths_say_the_same(status: int) -> None:
    """The answers are equal byte for byte, on a persistent connection."""
    fixture, dates = Fixture(), DateText()
    fixture.now = 5.0
    kept = StoredReply(status, FIELDS, b"[]")
    fixture.path.remember(HEAD, kept_hit(fixture.store, "/w/f", kept, replied_at=3.0), b"[]")
    expected = fixture.path.answer(HEAD)
    assert expected is not None

    async def handler(_: Request) -> RawResponse:
        return cached_reply(kept, b"[]", HIT, replied_at=3.0, now=5.0, dates=dates)

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        answered = await client.reader.readexactly(len(expected))
    assert _undated(answered) == _undated(expected)


def _undated(text: bytes) -> list[bytes]:
    fields = dict(line.partition(b": ")[::2] for line in text.split(b"\r\n"))
    assert fields[b"Date"] == fields[b"Expires"]
    return [line for line in text.split(b"\r\n") if not line.startswith((b"Date", b"Expires"))]


# -- the table in a full cache -----


def polled(fixture: Fixture, paths: int) -> int:
    """Poll this many paths in turn, each once; return how many of them the fast path answered."""
    quick = 0
    for number in range(paths):
        path = f"/w/{number}"
        head = head_for(path)
        if fixture.path.answer(head) is None:
            fixture.missing(path, head)
            fixture.store.evict()
        else:
            quick += 1
    fixture.check()
    return quick


def test_paths_polled_in_turn_take_the_quick_way_while_they_fit() -> None:
    """Scale: the table grows with the cache."""
    fixture = Fixture(max_bytes=2_000_000)
    assert [polled(fixture, 1_500) for _ in range(3)] == [0, 1_500, 1_500]


def test_of_too_many_paths_a_stable_part_is_fast() -> None:
    """Scale: no path of such a round was used recently, but the table does not turn over."""
    fixture = Fixture(max_bytes=1_000_000)
    polled(fixture, 3_000)
    fits = fixture.path.stats().heads
    quick = [polled(fixture, 3_000) for _ in range(4)]
    assert min(quick) > 0.6 * fits, (quick, fits)


def test_a_client_in_ever_new_words_takes_no_others_quick_way() -> None:
    """Shares: a client that sends ever new heads evicts only its own answers."""
    fixture = Fixture(max_bytes=1_000_000)
    polled(fixture, 600)
    for n in range(20_000):
        fixture.missing("/w/1", head_for("/w/1", f"User-Agent: {n}"))
        if n % 2_000 == 0:
            assert polled(fixture, 600) > 590
    assert polled(fixture, 600) > 590


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["remember", "answer", "spoil", "forget", "reclaim", "second"]),
            st.integers(0, 20),
            st.integers(0, 3000),
        ),
        max_size=80,
    )
)
def test_it_answers_what_was_remembered_last_and_is_good(steps: list[tuple[str, int, int]]) -> None:
    """This holds after any steps, within the table's bounds."""
    fixture = Fixture(max_bytes=20_000)
    twin: dict[bytes, bytes] = {}
    for (what, number, size), version in zip(steps, itertools.count()):
        path = f"/w/{number}"
        head = head_for(path)
        match what:
            case "remember":
                fixture.bad.discard(head)
                fixture.store.forget_status(path)
                twin[head] = fixture.file(path, head, b"%d:" % version + b"x" * size)
            case "spoil":
                fixture.bad.add(head)
            case "forget":
                fixture.store.forget_subtree(path if size % 2 else "/w")
            case "reclaim":
                fixture.store.reclaim(3)
            case "second":
                fixture.now += 0.4
            case _:
                answer = fixture.body(head)
                assert answer in (None, twin.get(head))
                assert answer is None or head not in fixture.bad
        fixture.check()


class _Watched:
    """A fast path that knows one head and records the observed exchanges."""

    def __init__(self) -> None:
        self.seen: list[Exchange] = []
        self.now = 1.0
        store = CacheStore(max_bytes=10**6, max_items=10**6)
        self.path = FastPath(lambda _hit, _now: True, store, lambda: self.now, LIMITS, self.seen.append)
        self.reply = StoredReply(404, FIELDS, render_missing("/w/f"))
        self.path.remember(HEAD, kept_hit(store, "/w/f", self.reply), self.reply.body)

    def answer(self, times: int, apart_s: float) -> list[int]:
        """Answer this many times; return the numbers of the answers that were observed."""
        shown = []
        for number in range(times):
            self.now += apart_s
            assert self.path.answer(HEAD) is not None
            if self.path.is_sampled:
                self.path.observe(HEAD, "10.0.0.1")
                shown.append(number)
        return shown


def test_at_a_high_rate_one_hit_of_many_is_shown_to_observers() -> None:
    """A sampled hit has a weight: the number of hits that it represents. Chance picks it, so no path is missed."""
    watched = _Watched()
    shown = watched.answer(times=200_000, apart_s=0.00002)
    assert len(shown) < 1_000, "about a hundred a second at most, of 50,000"
    assert sum(each.weight for each in watched.seen) == pytest.approx(200_000, rel=0.25)
    distances = {after - before for before, after in itertools.pairwise(shown[len(shown) // 2 :])}
    assert len(distances) > len(shown) // 4, "at random distances"


def test_at_a_low_rate_each_hit_is_shown() -> None:
    """This also holds after a high rate. The exchange names the request and the reply."""
    watched = _Watched()
    watched.answer(times=100_000, apart_s=0.0)
    assert watched.path.sampler.every == MAX_EVERY, "the sample is bounded"
    watched.answer(times=30_000, apart_s=0.1)
    watched.seen.clear()
    assert watched.answer(times=50, apart_s=0.1) == list(range(50))
    first = watched.seen[0]
    assert (first.method, first.target.encode(), first.peer) == ("GET", HEAD.split()[1], "10.0.0.1")
    assert (first.result, first.operation, first.weight) == (Result.HIT, "GETFILESTATUS", 1)
    assert (first.status, first.body_bytes) == (404, len(watched.reply.body))


def test_every_hit_is_shown_where_that_is_asked_for() -> None:
    """An access log of all requests needs every hit."""
    watched = _Watched()
    watched.path.sampler.max_every = 1
    assert len(watched.answer(times=500, apart_s=0.00002)) == 500
    assert {each.weight for each in watched.seen} == {1}
    assert {each.request_id for each in watched.seen} == {""}
    named = HEAD[:-2] + b"X-Request-Id: 7b\r\nTraceparent: 00-1\r\n\r\n"
    assert watched.path.answer(named) is not None
    watched.path.observe(named, "")
    assert (watched.seen[-1].request_id, watched.seen[-1].traceparent) == ("7b", "00-1")


def test_a_cookie_names_the_caller_of_a_hit_that_is_shown() -> None:
    """With Kerberos the target has no user. A cookie that a NameNode issues for `user.name` adds nothing."""
    for kind, caller in (("kerberos", "user.name=alice"), ("simple", "user.name=joe")):
        watched = _Watched()
        field = f'Cookie: hadoop.auth="u=alice&p=alice@R&t={kind}&e=9&s=x"\r\n\r\n'
        watched.path.answer(HEAD)
        watched.path.observe(HEAD[:-2] + field.encode(), "")
        assert watched.seen[-1].caller == caller


def test_a_fault_of_ours_leaves_the_request_to_the_ordinary_path(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """FailToNameNode: the error used to end the connection without a reply."""
    fixture = Fixture()
    fixture.file("/w/f", HEAD)
    with monkeypatch.context() as broken:
        broken.setattr(HitFrame, "at", fails)
        assert fixture.path.answer(HEAD) is None
    assert fixture.path.answer(HEAD) is not None
    assert fixture.path.stats().hits == 1
    assert "internal error in the table of heads" in caplog.text
