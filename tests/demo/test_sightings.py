"""What readers saw, and what follows from it."""

from nncache.demo.sightings import (
    DENIED,
    MISSING,
    Question,
    Record,
    Sighting,
    View,
    Watched,
    all_answered,
    between,
    watched,
)

ALICE, BOB = Question("alice", "/w/f"), Question("bob", "/w/f")
THERE = View(200, 3)


def record(question: Question, *seen: tuple[float, View]) -> Record:
    """Return a reader's record: when each read began and what it showed, all from memory."""
    return Record(
        question,
        tuple(Sighting(view=view, is_hit=True, started_at=at, ended_at=at + 0.001) for at, view in seen),
    )


def of_creation(*records: Record, at: float = 10.0) -> Watched:
    """Return what followed from a creation that was acknowledged then."""
    return watched(records, at, before={ALICE: MISSING, BOB: MISSING}, after={ALICE: THERE, BOB: THERE})


def test_the_delay_runs_from_the_acknowledgement_to_the_start_of_the_first_read_that_shows_it() -> None:
    """For each reader his own."""
    seen = of_creation(
        record(ALICE, (9.9, MISSING), (10.25, THERE), (10.5, THERE)),
        record(BOB, (9.9, MISSING), (10.25, MISSING), (10.5, THERE)),
    )
    assert seen == Watched(delays_s=(0.25, 0.5), blind=(), oldest_s=0.25, reads=4, failed=0)


def test_a_read_begun_before_the_acknowledgement_may_show_it_already() -> None:
    """That is no delay at all, and no negative one."""
    seen = of_creation(record(ALICE, (9.5, MISSING), (9.75, THERE), (10.25, THERE)))
    assert (seen.delays_s, seen.oldest_s) == ((0.0,), 0.0)


def test_who_never_sees_it_has_no_delay_but_is_named() -> None:
    """What he got last is named as well."""
    seen = of_creation(record(ALICE, (9.9, MISSING), (13.5, MISSING)), record(BOB))
    assert seen.delays_s == ()
    assert seen.blind == ("alice still gets 404", "bob still gets no answer")
    assert seen.oldest_s == 3.5


def test_an_old_answer_after_a_new_one_counts() -> None:
    """The guarantee is about every read, not about the first good one."""
    seen = of_creation(record(ALICE, (9.9, MISSING), (10.25, THERE), (14.0, MISSING), (14.5, THERE)))
    assert (seen.delays_s, seen.oldest_s) == ((0.25,), 4.0)


def test_an_answer_that_should_stay_the_same_has_no_delay() -> None:
    """But a wrong one counts."""
    records = (
        record(ALICE, (9.9, THERE), (10.5, DENIED), (11.0, THERE)),
        record(BOB, (9.9, THERE), (10.25, THERE), (11.0, DENIED)),
    )
    seen = watched(records, 10.0, before={ALICE: THERE, BOB: THERE}, after={ALICE: THERE, BOB: DENIED})
    assert seen == Watched(delays_s=(1.0,), blind=(), oldest_s=0.5, reads=4, failed=0)


def test_a_file_that_is_still_being_written_is_not_the_finished_one() -> None:
    """An open file has another length."""
    seen = of_creation(record(ALICE, (9.9, MISSING), (10.25, View(200, 0)), (10.5, THERE)))
    assert seen.delays_s == (0.5,)


def test_reads_that_were_let_down_are_counted() -> None:
    """No answer and server errors; a 403 or a 404 is an answer."""
    seen = of_creation(
        record(ALICE, (9.9, View(0)), (10.0, View(503)), (10.1, DENIED), (10.2, MISSING), (10.3, THERE))
    )
    assert seen.failed == 2


def test_all_are_answered_when_the_last_read_of_each_is() -> None:
    """A reader without any read is not answered."""
    expected = {ALICE: THERE, BOB: THERE}
    alice, bob = record(ALICE, (1.0, MISSING), (2.0, THERE)), record(BOB, (3.0, THERE))
    assert all_answered((alice, bob), expected)
    assert all_answered((alice, bob), expected, since=2.0)
    assert not all_answered((alice, bob), expected, since=2.5)
    assert not all_answered((alice, record(BOB)), expected)
    assert not all_answered((alice, record(BOB, (3.0, THERE), (4.0, MISSING))), expected)


def test_from_memory_asks_for_hits() -> None:
    """A right answer that the NameNode gave is none."""
    forwarded = Record(ALICE, (Sighting(view=THERE, is_hit=False, started_at=1.0, ended_at=1.0),))
    assert all_answered((forwarded,), {ALICE: THERE})
    assert not all_answered((forwarded,), {ALICE: THERE}, from_memory=True)
    assert all_answered((record(ALICE, (1.0, THERE)),), {ALICE: THERE}, from_memory=True)


def test_a_stretch_holds_the_reads_begun_in_it() -> None:
    """Both ends included."""
    whole = record(ALICE, (1.0, MISSING), (2.0, MISSING), (3.0, THERE), (4.0, THERE))
    assert between((whole,), 2.0, 3.0) == (record(ALICE, (2.0, MISSING), (3.0, THERE)),)


def test_a_question_is_asked_in_the_plain_form() -> None:
    """Only plain requests are answered from memory."""
    assert Question("bob", "/w/a b/_SUCCESS").target == (
        "/webhdfs/v1/w/a%20b/_SUCCESS?op=GETFILESTATUS&user.name=bob"
    )


def test_a_view_is_told_in_few_words() -> None:
    """The length is that of a file."""
    assert [str(view) for view in (View(0), MISSING, View(200), THERE)] == [
        "no answer",
        "404",
        "200",
        "200 with 3 bytes",
    ]
