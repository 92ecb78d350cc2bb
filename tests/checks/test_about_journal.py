"""A majority of JournalNodes must be readable, and the fault of each unreadable one is reported."""

import pytest

from nncache.checks.about_journal import CACHE_BYTES, directory, journalnodes
from nncache.checks.facts import JournalNodeFound
from nncache.checks.finding import CheckVerdict
from tests.checks.samples import of_proxy, of_publisher

READING = {"edits_source": "journalnodes", "shared_edits_dir": "qjournal://j1:8485;j2:8485;j3:8485/ns1"}
WHY = "set dfs.ha.tail-edits.in-progress to true"


def found(*troubles: str, cache: str = "") -> dict[str, JournalNodeFound]:
    """Return the results for as many JournalNodes as troubles, with caches of `cache` bytes."""
    return {
        f"j{number}:8485": JournalNodeFound(trouble=trouble, conf={CACHE_BYTES: cache})
        for number, trouble in enumerate(troubles, 1)
    }


def test_who_reads_none_is_not_judged() -> None:
    """By default the NameNode is polled. On ZooKeeper a proxy reads no edits."""
    (finding,) = journalnodes(of_proxy())
    assert finding.verdict is CheckVerdict.SKIPPED
    (finding,) = journalnodes(of_publisher(READING))
    assert "no active NameNode" in finding.text


def test_all_that_can_be_read_are_well() -> None:
    """They share one line."""
    (finding,) = journalnodes(of_proxy(READING, journalnodes=found("", "", "")))
    assert (finding.verdict, finding.text) == (CheckVerdict.OK, "all 3 JournalNodes can be read")


@pytest.mark.parametrize(
    ("size", "verdicts"),
    [
        ("1048576", [CheckVerdict.OK, *[CheckVerdict.WARNING] * 3]),
        ("67108864", [CheckVerdict.OK]),
        ("", [CheckVerdict.OK]),  # a share of the heap
        ("64m", [CheckVerdict.OK]),  # Hadoop does not start with it
    ],
)
def test_a_small_cache_misses_edits(size: str, verdicts: list[CheckVerdict]) -> None:
    """The default of Hadoop up to 3.3 is that small."""
    findings = list(journalnodes(of_proxy(READING, journalnodes=found("", "", "", cache=size))))
    assert [finding.verdict for finding in findings] == verdicts
    assert all("set dfs.journalnode.edit-cache-size.bytes to" in each.remedy for each in findings[1:])


def test_a_configuration_that_is_not_shown_is_reported() -> None:
    """The JournalNode may be readable nevertheless. For an unreadable one, only that is reported."""
    silent = {
        "j1:8485": JournalNodeFound(conf_silence="/conf answers 403"),
        "j2:8485": JournalNodeFound(trouble="no reply", conf_silence="no reply"),
    }
    findings = list(journalnodes(of_proxy(READING, journalnodes=silent)))
    assert [finding.verdict for finding in findings] == [CheckVerdict.FAILED, CheckVerdict.SKIPPED]
    assert "j1:8485 holds: /conf answers 403" in findings[1].text


@pytest.mark.parametrize(
    ("source", "troubles", "verdict"),
    [
        ("journalnodes", (WHY, "", ""), CheckVerdict.WARNING),
        ("journalnodes", (WHY, WHY, ""), CheckVerdict.FAILED),
        ("auto", (WHY, WHY, ""), CheckVerdict.WARNING),
    ],
)
def test_too_few_are_a_failure_unless_there_is_another_source(
    source: str, troubles: tuple[str, ...], verdict: CheckVerdict
) -> None:
    """Each unreadable one is named with its fault."""
    findings = list(journalnodes(of_proxy(READING | {"edits_source": source}, journalnodes=found(*troubles))))
    assert [finding.verdict for finding in findings] == [verdict] * sum(map(bool, troubles))
    assert all(WHY in finding.text and finding.remedy for finding in findings)


IN_A_DIRECTORY = {"edits_source": "directory", "edits_dir": "/name/current"}


def test_a_directory_that_is_not_read_is_not_judged() -> None:
    """It is not read if another source is chosen."""
    for flags in ({}, IN_A_DIRECTORY | {"edits_source": "inotify"}):
        (finding,) = directory(of_publisher(flags, directory="why"))
        assert finding.verdict is CheckVerdict.SKIPPED
    (finding,) = directory(of_publisher(IN_A_DIRECTORY))
    assert "no active NameNode" in finding.text


@pytest.mark.parametrize(
    ("source", "why", "verdict"),
    [
        ("directory", "", CheckVerdict.OK),
        ("directory", "Permission denied", CheckVerdict.FAILED),
        ("auto", "Permission denied", CheckVerdict.WARNING),
    ],
)
def test_a_directory_has_to_be_readable(source: str, why: str, verdict: CheckVerdict) -> None:
    """The line has the reason why it is not."""
    (finding,) = directory(of_publisher(IN_A_DIRECTORY | {"edits_source": source}, directory=why))
    assert finding.verdict is verdict
    assert (why or "/name/current can be read") in finding.text
