"""The log on the disks of the JournalNodes has each transaction once, on whichever disks it is."""

from pathlib import Path

import pytest

from nncache.hadoop.editlog.ops import OpCode
from tests.hadoop.editlog.segments import PADDING, RPC, frame, header, utf
from tests.journal_faults.finalized import DamagedJournalError, transactions_between

START, END = OpCode.START_LOG_SEGMENT, OpCode.END_LOG_SEGMENT


def deletion(txid: int, path: str = "/d") -> bytes:
    """Render a transaction."""
    return frame(txid, OpCode.DELETE, utf(path) + bytes(8) + RPC)


def journal(place: Path, **segments: bytes) -> Path:
    """Create a JournalNode's directory; the names of segments have their bounds."""
    place.mkdir()
    for name, data in segments.items():
        bounds = "-".join(f"{int(txid):019d}" for txid in name.removeprefix("s").split("_"))
        (place / f"edits_{bounds}").write_bytes(header() + data)
    return place


def test_the_log_is_what_all_have_together(tmp_path: Path) -> None:
    """One disk lacks a segment, and on another a segment ends with padding; only a part of the log is wanted."""
    first = frame(1, START) + deletion(2) + deletion(3) + frame(4, END)
    second = frame(5, START) + deletion(6) + frame(7, END)
    places = (
        journal(tmp_path / "1", s1_4=first),
        journal(tmp_path / "2", s1_4=first + PADDING * 100, s5_7=second),
    )
    assert [each.txid for each in transactions_between(places, 2, 7)] == [3, 6]
    with pytest.raises(DamagedJournalError, match="transaction 8 is in no finalized segment"):
        transactions_between(places, 2, 8)


def test_a_log_that_is_not_the_same_everywhere_judges_nothing(tmp_path: Path) -> None:
    """A difference is Hadoop's fault, or ours when we changed the disks."""
    places = (journal(tmp_path / "1", s1_1=deletion(1)), journal(tmp_path / "2", s1_1=deletion(1, "/e")))
    with pytest.raises(DamagedJournalError, match="transaction 1 is not the same everywhere"):
        transactions_between(places, 0, 1)
