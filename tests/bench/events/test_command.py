"""What is polled, and the whole of it on a real pair of NameNodes."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from nncache.bench.events import command
from nncache.bench.events.chart import CAPTION, finding
from nncache.bench.events.command import page, path_of, request_of, write
from nncache.bench.events.seconds import FAILED, MEMORY, Course
from tests.bench.events.test_chart import COURSE


def test_each_poller_has_a_request_of_its_own() -> None:
    """For its path, as one caller."""
    assert path_of(7) == "/bench-events/data/00007"
    head = request_of(7).decode()
    assert head.startswith(
        "GET /webhdfs/v1/bench-events/data/00007?op=GETFILESTATUS&user.name=joe HTTP/1.1\r\n"
    )
    assert head.endswith("\r\n\r\n")


def test_a_page_says_what_is_to_be_known(tmp_path: Path) -> None:
    """Of the picture beside it, which is made from the same figures."""
    text = page(COURSE, {"processor": "Example CPU"})
    assert text.startswith(f"# {finding(COURSE)}\n\n![{finding(COURSE)}](events.png)\n\n{CAPTION}\n\n")
    assert "10 pollers, each every 1 s; 5 changes of files a second; 2026-11-24." in text
    assert text.endswith("\n\n- processor: Example CPU\n")
    write(COURSE, tmp_path / "made" / "here")
    assert {path.name for path in (tmp_path / "made" / "here").iterdir()} == {
        "README.md",
        "events.json",
        "events.png",
    }


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_short_run_leaves_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All three events happen, in order, and at the end the polls are answered from memory again."""
    monkeypatch.setattr(command, "QUIET_S", 6.0)
    monkeypatch.setattr(command, "OUTAGE_S", 2.0)
    monkeypatch.setattr(command, "WARM_UP_S", 1.0)
    out = tmp_path / "out"
    done = CliRunner().invoke(command.main, ["--pollers", "40", "--period", "0.5", "--out", str(out)])
    assert done.exit_code == 0, done.output
    course = msgspec.json.decode((out / "events.json").read_bytes(), type=Course)
    assert [each.what for each in course.happenings] == [
        "restart of the proxy",
        "2 s without ZooKeeper",
        "NameNode failover",
    ]
    assert all(each.from_s < each.until_s for each in course.happenings)
    assert course.polls == len(course.seconds) * 80
    assert course.count(FAILED) < course.count(MEMORY)
    assert (out / "events.png").stat().st_size > 10_000
