"""What is in the log, by the disks of the JournalNodes: each transaction once, wherever it is."""

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
    """Make a JournalNode's directory; segments are by their bounds."""
    place.mkdir()
    for name, data in segments.items():
        bounds = "-".join(f"{int(txid):019d}" for txid in name.removeprefix("s").split("_"))
        (place / f"edits_{bounds}").write_bytes(header() + data)
    return place


def test_the_log_is_what_all_have_together(tmp_path: Path) -> None:
    """One lacks a segment, another ends with padding; a part of the log is asked for."""
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
    """That would be Hadoop's fault, or ours in what we did to the disks."""
    places = (journal(tmp_path / "1", s1_1=deletion(1)), journal(tmp_path / "2", s1_1=deletion(1, "/e")))
    with pytest.raises(DamagedJournalError, match="transaction 1 is not the same everywhere"):
        transactions_between(places, 0, 1)
