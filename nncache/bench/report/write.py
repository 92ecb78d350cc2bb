"""Write the report of a run into its directory, and read its figures again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from nncache.bench.checks import Check
from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo
from nncache.bench.report.charts import CHARTS, as_png
from nncache.bench.report.finding import workload_name
from nncache.bench.report.page import page
from nncache.bench.report.table import as_markdown

FIGURES: Final = "figures.json"


class FiguresError(Exception):
    """The figures of a run can't be read; the message names the file."""


@dataclass(frozen=True, slots=True)
class _File:
    """The content of `FIGURES`."""

    info: RunInfo
    modes: tuple[ModeFigures, ...]
    also: tuple[AtPeriod, ...] = ()


def write_report(
    directory: Path,
    info: RunInfo,
    modes: tuple[ModeFigures, ...],
    checks: tuple[Check, ...],
    limits: tuple[str, ...],
    also: tuple[AtPeriod, ...] = (),
) -> None:
    """Write charts, page, README.md and figures.json into the directory, which is made if it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FIGURES).write_bytes(msgspec.json.encode(_File(info, modes, also)) + b"\n")
    has_others = any(mode.others is not None for mode in modes)
    charts = {
        name: as_png(draw(info, modes, also))
        for name, draw in CHARTS.items()
        if name != "others" or has_others  # runs of earlier releases have none
    }
    for name, png in charts.items():
        (directory / f"{name}.png").write_bytes(png)
    readme = as_markdown(info, modes, checks, also, limits)
    (directory / "README.md").write_text(readme, encoding="utf-8")
    html = page(f"{workload_name(info)}, {info.date}", readme, charts)
    (directory / "report.html").write_text(html, encoding="utf-8")


def read_figures(directory: Path) -> tuple[RunInfo, tuple[ModeFigures, ...], tuple[AtPeriod, ...]]:
    """Return what `write_report` was given.

    Raises:
        FiguresError: there is no such file, or it is not one of these.
    """
    path = directory / FIGURES
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as exc:
        raise FiguresError(f"{path}: {exc.strerror}") from exc
    except msgspec.MsgspecError as exc:
        raise FiguresError(f"{path}: {exc}") from exc
    return file.info, file.modes, file.also
