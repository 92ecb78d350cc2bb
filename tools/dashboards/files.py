"""The dashboards' files: `python -m tools.dashboards.files` writes them (`make dashboards-json`)."""

from pathlib import Path
from typing import Final

from tools.dashboards.classic import json_of
from tools.dashboards.panel import read_board

DIRECTORY: Final = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "dashboards"

BOARDS: Final = tuple(map(read_board, ("fleet", "proxy", "inotify", "namenode")))


def files() -> dict[str, str]:
    """Return the text of each dashboard, by file name."""
    return {f"{board.name}.json": json_of(board) for board in BOARDS}


def write(directory: Path = DIRECTORY) -> None:
    """Write all dashboards, and remove the files of dashboards that no longer exist."""
    texts = files()
    for stale in {path.name for path in directory.glob("*.json")} - texts.keys():
        (directory / stale).unlink()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
