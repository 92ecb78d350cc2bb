"""The dashboards' files, as they should be. (deploy/grafana/files.py)"""

from pathlib import Path
from typing import Final

from nncache.deploy.grafana.boards.fleet import FLEET
from nncache.deploy.grafana.boards.inotify import INOTIFY
from nncache.deploy.grafana.boards.namenode import NAMENODE
from nncache.deploy.grafana.boards.proxy import PROXY
from nncache.deploy.grafana.classic import json_of

DIRECTORY: Final = Path(__file__).resolve().parent / "dashboards"

BOARDS: Final = (FLEET, PROXY, INOTIFY, NAMENODE)


def files() -> dict[str, str]:
    """Return file name -> text of each dashboard."""
    return {f"{board.name}.json": json_of(board) for board in BOARDS}


def write(directory: Path = DIRECTORY) -> None:
    """Write all of them, and remove those that are no longer there."""
    texts = files()
    for stale in {path.name for path in directory.glob("*.json")} - texts.keys():
        (directory / stale).unlink()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
