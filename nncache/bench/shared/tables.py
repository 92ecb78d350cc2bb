"""The Parquet tables that a run writes: their columns and units.

The files hold the same descriptions: each column has its meaning as metadata (`description`), which pyarrow shows.
pandas and Spark can read the tables. A run is a directory:

    run.json            the parameters: workload, seed, modes, machine, versions
    MODE/polls.parquet      one row for each poll that was due
    MODE/changes.parquet    one row for each state of each path, including the first ones
    MODE/counters.parquet   the resources used by the servers and the generator
    MODE/hosts.parquet      the hosts that polled, and their clock offsets
    MODE/others.parquet     measurements of a client that does not poll and of the RPC server; not in every run

All times are seconds on the driver's clock (CLOCK_BOOTTIME) from the start of the mode's measured time; times in the
warm-up are negative.
"""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

FAILED: Final = 0  # the status of a poll that got no reply

AUDITED: Final = "answers audited"
"""The unit of answers that a proxy compared with the NameNode's own, by outcome, including the warm-up."""

DENIED: Final = 403  # its digest and file id are 0: the text of a refusal names the caller


def _table(**columns: tuple[pa.DataType, str]) -> pa.Schema:
    return pa.schema(
        pa.field(name, kind, metadata={"description": meaning}) for name, (kind, meaning) in columns.items()
    )


POLLS: Final = _table(
    poller=(pa.int32(), "number of the poller"),
    path_id=(pa.int32(), "number of the path that it asked for"),
    due_s=(pa.float64(), "when the poll was due, s; latency counts from here (open loop)"),
    sent_s=(pa.float64(), "when its request was sent, s; NaN if it never was"),
    replied_s=(pa.float64(), "when its reply was complete or it failed, s"),
    status=(pa.int16(), "HTTP status; 0 if there was no reply"),
    digest=(pa.int64(), "first 8 bytes of the BLAKE2b digest of the reply's body; 0 for 403 and 0"),
    file_id=(pa.int64(), "fileId of the status; 0 if the reply has none"),
    served=(
        pa.string(),
        "how, as the server says: 'hit', 'miss', 'miss; no-grant', 'bypass; gate-closed'; '' if it does not",
    ),
    error=(pa.string(), "what went wrong; null if there was a reply"),
    clock_error_s=(
        pa.float32(),
        "by how much the times of this row may be off against the driver's clock, s",
    ),
)

CHANGES: Final = _table(
    change_id=(pa.int32(), "number of the change; -1 for what was there before the first"),
    path_id=(pa.int32(), "number of a path that it changed; a change of a directory has a row for each"),
    kind=(
        pa.string(),
        "see bench/shared/workload.py, ChangeKind; 'initial' for what was there before the first",
    ),
    due_s=(pa.float64(), "when it was due, s"),
    sent_s=(pa.float64(), "when it was sent to the NameNode, s: the earliest moment of the new state"),
    acked_s=(pa.float64(), "when the NameNode had acknowledged it, s: the latest moment of the old state"),
    status=(pa.int16(), "HTTP status of GETFILESTATUS from then on, as the NameNode itself says"),
    digest=(pa.int64(), "of the body that it says from then on, as in polls"),
    file_id=(pa.int64(), "fileId from then on; 0 if there is no such file or no caller may know"),
)

COUNTERS: Final = _table(
    source=(
        pa.string(),
        "'namenode', 'standby', 'journalnode-1', 'proxy', 'publisher', 'nginx', 'generator', 'changer'",
    ),
    name=(pa.string(), "what was counted, such as 'getFileInfo' or 'cpu'"),
    value=(pa.float64(), "how much of it in the measured time; of memory: at its end"),
    unit=(pa.string(), f"'calls', 's', 'bytes', '{AUDITED}' (of these, also before the measured time)"),
)

HOSTS: Final = _table(
    task=(pa.int32(), "number of the Spark task"),
    host=(pa.string(), "its host's name"),
    pollers=(pa.int32(), "how many pollers it ran"),
    clock_offset_s=(pa.float64(), "its clock minus the driver's, s; all times have been corrected by it"),
    clock_error_s=(pa.float64(), "by how much that may be wrong: half of the shortest round trip, s"),
    cpu_s=(pa.float64(), "CPU seconds of the task's process in the measured time"),
)


OTHERS: Final = _table(
    at_s=(pa.float64(), "when the call was due, or the NameNode was asked, s"),
    kind=(
        pa.string(),
        "'call' of a client that does not poll; else a mean of the NameNode: 'queue', 'lock wait', 'processing'",
    ),
    seconds=(pa.float64(), "from when the call was due to its reply, s; or the mean, s"),
    calls=(
        pa.int64(),
        "1; or the calls to the RPC port over which the mean was made, nncache's own included",
    ),
    error=(pa.string(), "what went wrong with the call; null if it was answered"),
)


def write(rows: list[dict[str, object]], schema: pa.Schema, file: Path) -> None:
    """Write rows as a Parquet file."""
    pq.write_table(pa.Table.from_pylist(rows, schema), file)
