"""The report of a run: files in its directory, and text for a terminal."""

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import jinja2
import msgspec
from markdown_it import MarkdownIt
from markupsafe import Markup
from rich.console import Console
from rich.markdown import Markdown

from nncache.auditing.audit_judge import AUDIT_OUTCOMES
from nncache.bench.report import finding, savings
from nncache.bench.report.charts import CHARTS, as_png
from nncache.bench.report.rounding import NONE, duration, number, percent, ratio
from nncache.bench.shared.driver import Figure
from nncache.bench.shared.figures import Quantiles, RunFigures

FIGURES: Final = "figures.json"
WIDTH: Final = 120  # columns of a terminal

PROOF: Final = "miss; no-grant"
"""The reply to a caller whose right to see the path had to be proven first, by a separate call."""

TABLES: Final = ("polls", "changes", "counters", "hosts")
"""The tables of each mode (bench/shared/tables.py) that the report links to."""

_ESCAPES: Final = str.maketrans(
    {**{sign: f"\\{sign}" for sign in r"\`*_[]|#~"}, "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)


def write_report(directory: Path, run: RunFigures, checks: tuple[Figure, ...]) -> None:
    """Write charts, page, README.md and figures.json to the directory, which is created if missing."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FIGURES).write_bytes(msgspec.json.encode(run) + b"\n")
    charts = {name: as_png(draw(run)) for name, draw in CHARTS.items()}
    for name, png in charts.items():
        (directory / f"{name}.png").write_bytes(png)
    readme = as_markdown(run, checks)
    (directory / "README.md").write_text(readme, encoding="utf-8")
    html = page(f"{finding.workload_name(run.info)}, {run.info.date}", readme, charts)
    (directory / "report.html").write_text(html, encoding="utf-8")


def page(title: str, source: str, charts: Mapping[str, bytes]) -> str:
    """Return the report as one self-contained HTML page.

    HTML in the source is shown as text. `charts` are PNG files by name, which the source includes as NAME.png.
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    for name, png in charts.items():  # no text contains that: in texts, a quotation mark is an entity
        inline = f'src="data:image/png;base64,{base64.b64encode(png).decode()}"'
        body = body.replace(f'src="{name}.png"', inline)
    return _TEMPLATES.overlay(finalize=None).get_template("page.html.j2").render(title=title, body=body)


def markdown(value: object) -> Markup:
    """Return a value's text on one line, escaped for Markdown; `Markup` is returned unchanged."""
    return value if isinstance(value, Markup) else Markup(_printable(str(value)).translate(_ESCAPES))  # noqa: S704 - escaped


def as_text(run: RunFigures, checks: tuple[Figure, ...]) -> str:
    """Return figures, savings and checks for a terminal, no wider than `WIDTH`, with a line feed at the end."""
    file = io.StringIO()
    source = as_markdown(run, checks, is_brief=True)
    Console(file=file, width=WIDTH, color_system=None).print(Markdown(source, hyperlinks=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def as_markdown(run: RunFigures, checks: tuple[Figure, ...], *, is_brief: bool = False) -> str:
    """Return the whole report (report.md.j2); a brief one ends after the checks, and has no charts."""
    return _TEMPLATES.get_template("report.md.j2").render(
        info=run.info,
        modes=run.modes,
        also=run.also,
        checks=checks,
        names=lambda table: sorted({name for mode in run.modes for name in getattr(mode, table)}),
        wrong=[(mode, answer) for mode in run.modes for answer in mode.wrong],
        command=[Markup(_printable(line)) for line in run.info.command.splitlines()],  # noqa: S704 - set as code
        files=[Markup(f"{quote(each.mode, safe='')}/{it}.parquet") for each in run.modes for it in TABLES],  # noqa: S704 - quoted
        is_brief=is_brief,
    )


def _printable(text: str) -> str:
    """Return the text on one line, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def _ms(times: Quantiles, name: str) -> str:
    return number(getattr(times, name) * 1e3) if times.count else NONE


def _alarm(value: str, is_bad: object) -> str:
    """Return the value, in bold if it is bad."""
    return Markup(f"**{value}**") if is_bad else value  # noqa: S704 - a number or a word of ours


_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    finalize=markdown,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    number=number, percent=percent, duration=duration, count=_count, ms=_ms, alarm=_alarm
)
_TEMPLATES.globals.update(
    finding=finding, savings=savings, ratio=ratio, proof=PROOF, audit_outcomes=AUDIT_OUTCOMES
)
