"""Lines are written in order and whole; a slow or full disk costs lines and nothing else."""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nncache.clock import boottime
from nncache.request_logs.line_writer import LineWriter
from tests.patience import HANG_S, until


@contextmanager
def writer_to(destination: object, **options: int) -> Iterator[LineWriter]:
    """Yield a running writer that does not wait to gather lines."""
    writer = LineWriter(str(destination), boottime, gather_s=0.0, close_s=HANG_S, **options)
    writer.start()
    try:
        yield writer
    finally:
        writer.close()


def test_what_was_taken_is_written_before_the_end(tmp_path: Path) -> None:
    """Lines are appended in order; the file is not world-readable."""
    file = tmp_path / "log"
    for start in (0, 500):
        with writer_to(file) as writer:
            for number in range(start, start + 500):
                writer.write(b"%d\n" % number)
            assert (writer.lines, writer.lost) == (500, 0)
    assert file.read_text().splitlines() == [str(number) for number in range(1_000)]
    assert file.stat().st_mode & 0o007 == 0


def test_what_is_no_file_is_refused_at_the_start(tmp_path: Path) -> None:
    """It fails before the first line."""
    with pytest.raises(IsADirectoryError):
        LineWriter(str(tmp_path), boottime)


def test_one_that_never_began_ends(tmp_path: Path) -> None:
    """A start may fail after the file was opened."""
    before = threading.active_count()
    LineWriter(str(tmp_path / "log"), boottime).close()
    assert threading.active_count() == before


def test_a_file_that_was_moved_is_left_where_it_is(tmp_path: Path) -> None:
    """This is logrotate's sequence: earlier lines are in the old file, later ones in the new one."""
    file, old = tmp_path / "log", tmp_path / "log.1"
    with writer_to(file) as writer:
        writer.write(b"before\n")
        until(lambda: file.read_bytes() == b"before\n")
        file.rename(old)
        writer.write(b"moved\n")
        writer.reopen()
        writer.write(b"after\n")
    assert (old.read_bytes(), file.read_bytes()) == (b"before\nmoved\n", b"after\n")


def test_a_file_that_cannot_be_opened_again_is_written_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning says so."""
    file, old = tmp_path / "log", tmp_path / "log.1"
    with writer_to(file) as writer:
        file.rename(old)
        file.mkdir()
        writer.reopen()
        writer.write(b"after\n")
    assert old.read_bytes() == b"after\n"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cannot reopen; still writing to the old file: Is a directory" in caplog.text


def test_lines_lost_to_a_full_disk_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """One warning covers any number of lines."""
    with writer_to("/dev/full") as writer:
        for number in range(100):
            writer.write(b"%d\n" % number)
            until(lambda done=number + 1: writer.lost == done)  # type: ignore[misc] # mypy knows no default there
    assert caplog.messages == ["/dev/full: lines are lost: No space left on device"]
    assert caplog.records[0].levelno == logging.WARNING


def test_a_reader_that_does_not_read_costs_lines_and_no_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The queue is bounded; once the reader resumes, it gets every line that was not lost, whole."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # Room for a hundred lines and the last: the writer may not have counted the bytes already read from the pipe.
        with writer_to(pipe, max_waiting_bytes=100_500) as writer:
            line = b"x" * 999 + b"\n"
            for _ in range(1_000):
                writer.write(line)
            assert writer.lost >= 1_000 - 2 * 100 - 65  # queued, being written, and in the pipe
            lost = writer.lost
            os.set_blocking(end, True)
            read = b""
            while len(read) < (1_000 - lost) * len(line):
                read += os.read(end, 65_536)
            writer.write(b"last\n")
            assert os.read(end, 65_536) == b"last\n"
    finally:
        os.close(end)
    assert read == line * (1_000 - lost)
    assert len(caplog.messages) == 1
    assert "log fewer hits (access_log_sample)" in caplog.text


def test_the_rest_of_a_torn_line_is_no_part_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up within a line loses that line; later lines start on a new line."""
    file = tmp_path / "log"
    room = [5]
    write = os.write

    def full(to: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        count = write(to, bytes(data[: room[0]]))
        room[0] -= count
        return count

    with writer_to(file) as writer:
        monkeypatch.setattr("nncache.request_logs.line_writer.os.write", full)
        writer.write(b"one\ntwo\n")
        until(lambda: writer.lost == 1)
        writer.write(b"three\n")
        until(lambda: writer.lost == 2)
        room[0] = 1_000
        writer.write(b"four\n")
    assert file.read_bytes() == b"one\nt\nfour\n"


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing the writer does not close the process's standard output."""
    with (tmp_path / "out").open("wb") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with writer_to("-") as writer:
            writer.write(b"x\n")
        out.write(b"y\n")
    assert (tmp_path / "out").read_bytes() == b"x\ny\n"
