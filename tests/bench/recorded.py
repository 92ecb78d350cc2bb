"""Small runs written down by hand: rows of the benchmark's tables with what a test does not care about filled in."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nncache.bench.shared.tables import CHANGES, COUNTERS, HOSTS, POLLS, write

Row = dict[str, Any]

BEFORE_S = -1_000.0
"""When what was there from the beginning had come about."""

NEVER_SENT = float("nan")


def poll(
    sent_s: float,
    replied_s: float,
    *,
    poller: int = 0,
    path_id: int = 0,
    due_s: float | None = None,
    status: int = 200,
    digest: int = 0,
    file_id: int = 0,
    served: str = "",
    clock_error_s: float = 0.0,
) -> Row:
    """Return a row of `polls`, sent when it was due if not said otherwise."""
    return {
        "poller": poller,
        "path_id": path_id,
        "due_s": sent_s if due_s is None else due_s,
        "sent_s": sent_s,
        "replied_s": replied_s,
        "status": status,
        "digest": digest,
        "file_id": file_id,
        "served": served,
        "error": None if status else "no reply",
        "clock_error_s": clock_error_s,
    }


def initial(path_id: int = 0, *, status: int = 200, digest: int = 0, file_id: int = 0) -> Row:
    """Return the row of `changes` for what was there before the first change."""
    return change(
        BEFORE_S,
        BEFORE_S,
        change_id=-1,
        path_id=path_id,
        kind="initial",
        status=status,
        digest=digest,
        file_id=file_id,
    )


def change(
    sent_s: float,
    acked_s: float,
    *,
    change_id: int = 0,
    path_id: int = 0,
    kind: str = "touch",
    status: int = 200,
    digest: int = 0,
    file_id: int = 0,
) -> Row:
    """Return a row of `changes`."""
    return {
        "change_id": change_id,
        "path_id": path_id,
        "kind": kind,
        "due_s": sent_s,
        "sent_s": sent_s,
        "acked_s": acked_s,
        "status": status,
        "digest": digest,
        "file_id": file_id,
    }


def record(
    mode_directory: Path,
    *,
    polls: Iterable[Row],
    changes: Iterable[Row],
    counters: Iterable[Row] = (),
    hosts: Iterable[Row] = (),
) -> Path:
    """Write the tables of a mode and return their directory."""
    mode_directory.mkdir(parents=True, exist_ok=True)
    for name, rows, schema in (
        ("polls", polls, POLLS),
        ("changes", changes, CHANGES),
        ("counters", counters, COUNTERS),
        ("hosts", hosts, HOSTS),
    ):
        write(list(rows), schema, mode_directory / f"{name}.parquet")
    return mode_directory
