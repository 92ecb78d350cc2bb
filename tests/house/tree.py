"""The source tree as the house's checks see it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("nncache", "demo", "testbed", "proxy", "invalidation", "cache", "hadoop")


def sources(*places: str) -> tuple[Path, ...]:
    """Return all Python files written by people below these directories of the repository."""
    return tuple(
        path
        for place in places
        for path in sorted((ROOT / place).rglob("*.py"))
        if not path.name.endswith("_pb2.py")  # written by protoc
    )


def shown(path: Path) -> str:
    """Return the path as a reader of a failure wants it."""
    return path.relative_to(ROOT).as_posix()
