"""The events of a NameNode's edit log, as Hadoop's offline edits viewer (`hdfs oev`) reads it.

Independent of our reading of edits over RPC, and of the NameNode's translation of edits to events.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from nncache.testbed import Cluster
from nncache.testbed.errors import ServerStartError
from tests.inotify.subscriber_log import Event

OEV: Final = "org.apache.hadoop.hdfs.tools.offlineEditsViewer.OfflineEditsViewer"

_EVENTS: Final = {
    "OP_MKDIR": ("CREATE", ("PATH",)),
    "OP_DELETE": ("UNLINK", ("PATH",)),
    "OP_RENAME_OLD": ("RENAME", ("SRC", "DST")),
    "OP_SET_PERMISSIONS": ("METADATA", ("SRC",)),
}
"""The calls that histories make (InotifyFSEditLogOpTranslator, Hadoop 3.5.0): event type, and the fields with paths."""


def events_between(cluster: Cluster, first_txid: int, last_txid: int, below: str) -> tuple[Event, ...]:
    """Return the events of paths below a directory, in order. This ends the segment in progress.

    Raises:
        StartError: Hadoop's tools fail.
        ValueError: the log has a change there that no history makes.
    """
    cluster.roll_edits()
    found: list[Event] = []
    for segment in _segments(cluster, first_txid, last_txid):
        found += _read(cluster, segment, below)
    return tuple(event for event in found if first_txid <= event.txid <= last_txid)


def _segments(cluster: Cluster, first_txid: int, last_txid: int) -> Iterator[Path]:
    """Yield the finalized segments that overlap these transactions, in order. All copies of a segment are equal."""
    found = {segment.name: segment for segment in cluster.directory.glob("**/current/edits_0*-0*")}
    for _, segment in sorted(found.items()):
        begin, end = map(int, segment.name.removeprefix("edits_").split("-"))
        if begin <= last_txid and end >= first_txid:
            yield segment


def _read(cluster: Cluster, segment: Path, below: str) -> Iterator[Event]:
    written = cluster.directory / f"{segment.name}.xml"
    result = cluster.run_main(OEV, "-i", str(segment), "-o", str(written), "-p", "xml")
    if result.returncode != 0 or not written.exists():
        raise ServerStartError(f"oev {segment.name}: {result.stderr.strip() or result.stdout.strip()}")
    try:
        records = ET.parse(written).getroot().findall("RECORD")  # noqa: S314 - Hadoop's own tool wrote it
    finally:
        written.unlink()
    for record in records:
        code, data = record.findtext("OPCODE", ""), record.find("DATA")
        assert data is not None, "a record without data"
        paths = [data.findtext(name, "") for name in ("PATH", "SRC", "DST")]
        if not any(path == below or path.startswith(f"{below}/") for path in paths):
            continue
        if code not in _EVENTS:
            raise ValueError(f"the log has {code} of {', '.join(filter(None, paths))}")
        kind, names = _EVENTS[code]
        yield Event(int(data.findtext("TXID", "-1")), kind, tuple(data.findtext(name, "") for name in names))
