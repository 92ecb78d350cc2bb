"""Write the report of a run into its directory, and read its figures again. (bench/report/write.py)"""

import dataclasses
import math
from pathlib import Path
from typing import Any, Final

import msgspec

from nncache.bench.checks import Check
from nncache.bench.figures import AtPeriod, ModeFigures, Quantiles, RunInfo
from nncache.bench.report.charts import as_png, cpu_chart, latency_chart, main_chart
from nncache.bench.report.finding import freshness, load, schedule, workload_name
from nncache.bench.report.page import page
from nncache.bench.report.table import as_markdown, capital, markdown, setting

FIGURES: Final = "figures.json"


class FiguresError(Exception):
    """The figures of a run can't be read; the message names the file."""


@dataclasses.dataclass(frozen=True, slots=True)
class _File:
    """The content of `FIGURES`. JSON has no NaN: a number that there is not is null."""

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
    charts = {
        "main": as_png(main_chart(info, modes)),
        "latency": as_png(latency_chart(info, modes)),
        "cpu": as_png(cpu_chart(info, modes)),
    }
    for name, png in charts.items():
        (directory / f"{name}.png").write_bytes(png)
    (directory / FIGURES).write_bytes(msgspec.json.encode(_File(info, modes, also)) + b"\n")
    (directory / "report.html").write_text(page(info, modes, checks, limits, charts, also), encoding="utf-8")
    readme = _readme(info, modes, checks, limits, also)
    (directory / "README.md").write_text(readme, encoding="utf-8")


def read_figures(directory: Path) -> tuple[RunInfo, tuple[ModeFigures, ...], tuple[AtPeriod, ...]]:
    """Return what `write_report` was given.

    Raises:
        FiguresError: there is no such file, or it is not one of these.
    """
    path = directory / FIGURES
    try:
        raw = msgspec.json.decode(path.read_bytes())
        for modes in (raw["modes"], *(at["modes"] for at in raw.get("also", ()))):
            for mode in modes:
                _restore(mode, ModeFigures)
        file = msgspec.convert(raw, _File)
    except OSError as exc:
        raise FiguresError(f"{path}: {exc.strerror}") from exc
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as exc:
        raise FiguresError(f"{path}: {exc}") from exc
    return file.info, file.modes, file.also


def _restore(raw: dict[str, Any], kind: type[ModeFigures | Quantiles]) -> None:
    """Put NaN where a number is null that must not be missing."""
    for field in dataclasses.fields(kind):
        if field.type is Quantiles:
            _restore(raw[field.name], Quantiles)
        elif field.type is float and raw.get(field.name, 0) is None:
            raw[field.name] = math.nan


def _readme(
    info: RunInfo,
    modes: tuple[ModeFigures, ...],
    checks: tuple[Check, ...],
    limits: tuple[str, ...],
    also: tuple[AtPeriod, ...],
) -> str:
    """Return what a reader sees who opens the directory in a browser of the repository."""
    head = markdown(load(info, modes))
    blocks = [f"# {head}", f"{markdown(capital(freshness(modes)))}."]
    if late := schedule(modes):
        blocks.append(f"**{markdown(late)}.**")
    blocks.append(f"![{head}](main.png)")
    blocks.append(
        f"Workload {markdown(workload_name(info))}, {markdown(info.date)}: {markdown(setting(info))}."
    )
    blocks.append(f"The whole report is [report.html](report.html), its figures are [{FIGURES}]({FIGURES}).")
    if info.command:
        blocks += ["It is run again by", "\n".join(f"    {line}" for line in info.command.splitlines())]
    blocks.append(as_markdown(info, modes, checks, also).rstrip("\n"))
    if limits:
        blocks += ["## What this does not show", "\n".join(f"- {markdown(limit)}" for limit in limits)]
    for title, values in (("Machine", info.machine), ("Versions", info.versions)):
        if values:
            lines = (f"- {markdown(name)}: {markdown(value)}" for name, value in values.items())
            blocks += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"
