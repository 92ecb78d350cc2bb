"""Workload files: read them, check them, list them."""

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from nncache.bench.shared.workload import NEEDS, Workload

READY: Final = Path(__file__).parents[1] / "workloads"


class WorkloadError(Exception):
    """A workload cannot be read, or has an invalid value; the message names file and key."""


def names() -> tuple[str, ...]:
    """Return the names of the ready-made workloads."""
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def load(name_or_path: str) -> Workload:
    """Return a ready-made workload by its name, or the workload in a file.

    Raises:
        WorkloadError: the file is missing or invalid.
    """
    path = READY / f"{name_or_path}.toml" if name_or_path in names() else Path(name_or_path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise WorkloadError(f"{path}: {exc.strerror}; the ready workloads are {', '.join(names())}") from exc
    except ValueError as exc:  # no TOML, or no UTF-8
        raise WorkloadError(f"{path}: {exc}") from exc
    unknown = raw.keys() - Workload.__slots__
    if unknown:
        raise WorkloadError(f"{path}: no such key: {', '.join(sorted(unknown))}")
    try:
        workload = msgspec.convert({"name": path.stem} | raw, Workload)
    except msgspec.ValidationError as exc:
        raise WorkloadError(f"{path}: {exc}") from exc
    for key, what in _wrong(workload):
        raise WorkloadError(f"{path}: {key}: {what}")
    return workload


def _wrong(workload: Workload) -> list[tuple[str, str]]:
    """Return the invalid keys, with the reasons."""
    positive = ("pollers", "period_s", "globs", "paths", "paths_per_poller", "paths_per_directory")
    wrong = [(key, f"{it} is not above 0") for key in positive if (it := getattr(workload, key)) <= 0]
    if wrong:
        return wrong
    if workload.paths < workload.globs:
        wrong.append(("paths", f"{workload.paths} paths can't match {workload.globs} globs each"))
    if not 0 <= workload.exist_share <= 1:
        wrong.append(("exist_share", f"{workload.exist_share} is not between 0 and 1"))
    if workload.changes_per_s < 0 or any(weight <= 0 for weight in workload.kinds.values()):
        wrong.append(("changes_per_s, kinds", "a rate can't be below 0, a weight must be above it"))
    if workload.changes_per_s and not workload.kinds:
        wrong.append(("kinds", f"something must change, such as one of {', '.join(NEEDS)}"))
    times = [event.at for event in workload.events]
    if times != sorted(times) or any(not 0 <= at <= 1 for at in times):
        wrong.append(("events", "`at` is a share of the measured time (0 to 1), in rising order"))
    return wrong
