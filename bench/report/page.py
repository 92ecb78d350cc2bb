"""The report as one page of HTML that needs nothing beside it. (bench/report/page.py)"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import jinja2

from nncache.bench.checks import Check
from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo, WrongAnswer
from nncache.bench.report.finding import freshness, load, schedule, tried, workload_name
from nncache.bench.report.rounding import duration
from nncache.bench.report.rows import sections
from nncache.bench.report.savings import FORMULA, savings
from nncache.bench.report.table import SAVING_HEADS, capital, saving_cells, setting

TABLES: Final = ("polls", "changes", "counters", "hosts")
"""The tables of each mode (bench/tables.py), to which the page links."""

WRONG_HEADS: Final = (
    "mode",
    "poller",
    "path",
    "sent, s",
    "replied, s",
    "status",
    "served",
    "no longer true for",
)
MOST_WRONG: Final = 100
"""Wrong answers that are listed for each mode."""

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(
    info: RunInfo,
    modes: tuple[ModeFigures, ...],
    checks: tuple[Check, ...],
    limits: tuple[str, ...],
    charts: Mapping[str, bytes],
    also: tuple[AtPeriod, ...] = (),
) -> str:
    """Return the page.

    Args:
        info: what was run.
        modes: what came out, by mode.
        checks: what was demanded of it.
        limits: what the benchmark does not show, a sentence each.
        charts: "main", "latency" and "cpu" as PNG files.
        also: what came out at other poll periods.
    """
    return _TEMPLATES.get_template("page.html.j2").render(
        name=workload_name(info),
        finding=load(info, modes),
        freshness=capital(freshness(modes)),
        schedule=schedule(modes),
        setting=setting(info),
        info=info,
        modes=modes,
        sections=sections(modes),
        checks=checks,
        met=sum(check.is_met for check in checks),
        saving_heads=SAVING_HEADS,
        savings=tuple(map(saving_cells, savings(modes, info, also))),
        formulas=(FORMULA, *tried(also)),
        wrong_heads=WRONG_HEADS,
        wrong=tuple(_wrong_cells(mode, answer) for mode in modes for answer in mode.wrong[:MOST_WRONG]),
        wrong_count=sum(mode.wrong_count for mode in modes),
        limits=limits,
        charts={chart: base64.b64encode(png).decode() for chart, png in charts.items()},
        files=tuple(f"{quote(mode.mode, safe='')}/{table}.parquet" for mode in modes for table in TABLES),
    )


def _wrong_cells(mode: ModeFigures, answer: WrongAnswer) -> tuple[str, ...]:
    return (
        mode.mode,
        str(answer.poller),
        str(answer.path_id),
        f"{answer.sent_s:.3f}",
        f"{answer.replied_s:.3f}",
        str(answer.status),
        answer.served,
        "never was true" if answer.age_s is None else duration(answer.age_s),
    )
