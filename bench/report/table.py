"""The table of a run as text and as Markdown. (bench/report/table.py)"""

import re
import textwrap
from typing import Final

from nncache.bench.checks import Check
from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo
from nncache.bench.report.finding import freshness, load, pollers_of, schedule, tried, workload_name
from nncache.bench.report.rounding import number, percent, seconds_of
from nncache.bench.report.rows import Section, sections
from nncache.bench.report.savings import FORMULA, Saving, savings

WIDTH: Final = 120
"""Columns of a terminal."""

SAVING_HEADS: Final = ("poll period", "mode", "calls/s direct", "calls/s through", "saved", "this row is")
"""Heads of the columns of `saving_cells`."""

_LABEL: Final = 46
_CELL: Final = 15
_SPECIAL: Final = re.compile(r"([\\`*_\[\]|#~])")


def as_text(
    info: RunInfo, modes: tuple[ModeFigures, ...], checks: tuple[Check, ...], also: tuple[AtPeriod, ...] = ()
) -> str:
    """Return the table for a terminal, no wider than `WIDTH`, with a line feed at its end."""
    lines = [
        *_wrapped(f"{workload_name(info)}, {info.date}: {setting(info)}"),
        *_wrapped(f"{load(info, modes)}. {capital(freshness(modes))}."),
    ]
    if late := schedule(modes):
        lines += _wrapped(f"{late}.")
    lines += ["", _text_line("", tuple(mode.mode for mode in modes))]
    for section in sections(modes):
        lines += ["", section.title] if section.rows else []
        lines += [_text_line(f"  {row.label}", row.cells) for row in section.rows]
    if saved := savings(modes, info, also):
        lines += ["", "Share of the NameNode's getFileInfo calls saved"]
        lines += [
            _text_line(f"  {cells[0]}, {cells[1]}", cells[2:])
            for cells in (SAVING_HEADS, *map(saving_cells, saved))
        ]
        for said in (FORMULA, *tried(also)):
            lines += _wrapped(said, "  ")
    if checks:
        lines += ["", "Checks"]
        for check in checks:
            verdict = "met       " if check.is_met else "FELL SHORT"
            lines += _wrapped(
                f"{verdict} {check.name}: wanted {check.wanted}, measured {check.measured}", "  ", " " * 13
            )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_markdown(
    info: RunInfo, modes: tuple[ModeFigures, ...], checks: tuple[Check, ...], also: tuple[AtPeriod, ...] = ()
) -> str:
    """Return the same as Markdown: tables only, without headings; a line feed at its end."""
    blocks = [_markdown_figures(modes, sections(modes))]
    saved = savings(modes, info, also)
    if saved:
        blocks += [
            "Share of the NameNode's getFileInfo calls saved:",
            markdown_table(SAVING_HEADS, tuple(map(saving_cells, saved))),
            *map(markdown, (FORMULA, *tried(also))),
        ]
    if checks:
        blocks.append(
            markdown_table(
                ("check", "wanted", "measured", "verdict"),
                tuple(
                    (check.name, check.wanted, check.measured, "met" if check.is_met else "FELL SHORT")
                    for check in checks
                ),
            )
        )
    return "\n\n".join(blocks) + "\n"


def saving_cells(saving: Saving) -> tuple[str, ...]:
    """Return a row of the table of savings."""
    return (
        seconds_of(saving.period_s),
        saving.mode,
        number(saving.direct_calls_per_s),
        number(saving.calls_per_s),
        percent(saving.share),
        "measured" if saving.is_measured else "computed",
    )


def setting(info: RunInfo) -> str:
    """Say in a few words how the workload was run."""
    return (
        f"{pollers_of(info)}, poll period {seconds_of(info.period_s)}, "
        f"measured for {seconds_of(info.duration_s)} after {seconds_of(info.warm_up_s)} of warm-up, "
        f"seed {info.seed}, Spark on {info.master}"
    )


def capital(sentence: str) -> str:
    """Return the sentence with a capital letter at its beginning."""
    return sentence[:1].upper() + sentence[1:]


def markdown(text: str) -> str:
    """Return the text so that Markdown shows it as it is, on one line."""
    safe = _SPECIAL.sub(r"\\\1", _printable(text))
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_table(heads: tuple[str, ...], rows: tuple[tuple[str, ...], ...], left: int = 2) -> str:
    """Return a table whose first `left` columns are flush left, the others flush right."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    lines = [heads, *rows]
    cells = [" | ".join(map(markdown, line)) for line in lines]
    cells.insert(1, " | ".join(rule))
    return "\n".join(f"| {line} |" for line in cells)


def _markdown_figures(modes: tuple[ModeFigures, ...], parts: tuple[Section, ...]) -> str:
    rows = [(row.label.strip(), *row.cells) for part in parts for row in part.rows]
    return markdown_table(("", *(mode.mode for mode in modes)), tuple(rows), left=1)


def _text_line(label: str, cells: tuple[str, ...]) -> str:
    """Return cells flush right under each other; what is too long is cut."""
    width = min(_CELL, (WIDTH - _LABEL) // max(1, len(cells)) - 2)
    return _cut(label, _LABEL).ljust(_LABEL) + "".join(f"  {_cut(cell, width):>{width}}" for cell in cells)


def _cut(text: str, width: int) -> str:
    text = _printable(text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _wrapped(text: str, indent: str = "", further: str | None = None) -> list[str]:
    rest = indent if further is None else further
    return textwrap.wrap(_printable(text), WIDTH, initial_indent=indent, subsequent_indent=rest)


def _printable(text: str) -> str:
    """Return the text on one line and without what a terminal would take for orders."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
