"""The table of heads: exact, bounded, and never surer than the cache."""

from hypothesis import given
from hypothesis import strategies as st

from cache.entries import Hit, Reply
from proxy.fastpath import FastPath
from proxy.hit_text import HitText

HEAD = b"GET /webhdfs/v1/f?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n\r\n"


class Marked(Hit):
    """A hit that the test can make bad. Nothing else of it is looked at."""

    def __init__(self) -> None:
        self.is_good = True


def is_good(hit: Hit, _now: float) -> bool:
    """Do as `MetadataCache.is_good`."""
    assert isinstance(hit, Marked)
    return hit.is_good


def text(body: bytes = b"{}") -> HitText:
    """Return some reply."""
    return HitText(Reply(200, (), body), body, 0.0)


def table(max_bytes: int = 100_000) -> FastPath:
    """Return what is tested."""
    return FastPath(is_good, lambda: 1.0, max_bytes=max_bytes)


def test_the_whole_head_counts() -> None:
    """One byte more, less or different is another request."""
    path = table()
    path.remember(HEAD, Marked(), text())
    assert path.answer(HEAD) is not None
    for other in (HEAD[:-1], HEAD + b"\r\n", HEAD.lower(), HEAD * 2, b"", HEAD.replace(b"nn", b"mm")):
        assert path.answer(other) is None
    assert path.stats().hits == 1


def test_a_hit_that_is_no_longer_good_is_forgotten() -> None:
    """Good again is for the ordinary path to find out."""
    path, hit = table(), Marked()
    path.remember(HEAD, hit, text())
    hit.is_good = False
    assert path.answer(HEAD) is None
    hit.is_good = True
    assert path.answer(HEAD) is None
    assert path.stats().heads == 0
    path.check()


def test_a_newer_answer_takes_the_place_of_the_older() -> None:
    """One head, one answer."""
    path = table()
    path.remember(HEAD, Marked(), text(b"old"))
    path.remember(HEAD, Marked(), text(b"new"))
    assert (path.answer(HEAD) or b"").endswith(b"new")
    assert path.stats().heads == 1
    path.check()


def test_what_was_asked_for_stays_longest() -> None:
    """The hand passes by what was asked for since it last came by, and takes the rest in order."""
    path = table(max_bytes=10_000)
    heads = [b"%d" % i for i in range(100)]
    for head in heads:
        path.remember(head, Marked(), text())
        path.answer(heads[0])
    assert path.answer(heads[0]) is not None
    assert path.answer(heads[1]) is None
    assert path.stats().evicted > 50
    path.check()


def test_when_all_were_asked_for_the_oldest_goes() -> None:
    """A second chance is one chance: the hand comes round."""
    path = table(max_bytes=10_000)
    heads = [b"%d" % i for i in range(100)]
    for head in heads:
        path.remember(head, Marked(), text())
        path.answer(head)
    assert path.stats().evicted > 50
    assert path.answer(heads[-1]) is not None
    path.check()


def test_nothing_is_kept_that_does_not_fit() -> None:
    """Zero switches it off; one giant does not push everything else out."""
    path = table(max_bytes=0)
    path.remember(HEAD, Marked(), text())
    assert path.answer(HEAD) is None
    path = table(max_bytes=10_000)
    path.remember(HEAD, Marked(), text())
    path.remember(b"giant", Marked(), text(b"x" * 100_000))
    assert path.answer(HEAD) is not None
    assert path.stats().heads == 1


def test_clearing_forgets_all() -> None:
    """And nothing is held any more."""
    path = table()
    path.remember(HEAD, Marked(), text())
    path.clear()
    assert path.answer(HEAD) is None
    assert path.stats().bytes_held == 0
    path.check()


@given(
    st.lists(
        st.tuples(st.sampled_from(["remember", "answer", "spoil"]), st.integers(0, 20), st.integers(0, 3000)),
        max_size=80,
    )
)
def test_the_table_stays_within_its_bounds(steps: list[tuple[str, int, int]]) -> None:
    """Whatever is done to it; and it answers only what was remembered last for that head and is good."""
    path = table(max_bytes=20_000)
    twin: dict[bytes, tuple[Marked, bytes]] = {}
    for what, number, size in steps:
        head = b"%d" % number
        match what:
            case "remember":
                body = b"%d:" % number + b"x" * size
                twin[head] = (Marked(), body)
                path.remember(head, twin[head][0], text(body))
            case "spoil" if head in twin:
                twin[head][0].is_good = False
            case _:
                answer = path.answer(head)
                if answer is not None:
                    hit, body = twin[head]
                    assert hit.is_good
                    assert answer.partition(b"\r\n\r\n")[2] == body
        path.check()
