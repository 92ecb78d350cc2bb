"""The generated pages hold a row for each row of their table."""

import re
from pathlib import Path
from typing import Any

import pytest

from nncache.metrics.table import METRICS
from nncache.settings.commands import FORMS, KEYS
from nncache.settings.forms import Form
from nncache.settings.reference import metrics_page, pages, settings_page, write


@pytest.mark.parametrize("name", sorted(KEYS))
def test_each_setting_has_a_row(name: str) -> None:
    """Key, default and meaning."""
    key = next(form.keys[name] for form in FORMS if name in form.keys)
    row = next(line for line in settings_page().splitlines() if re.match(f"- `{name}`[ :]", line))
    assert key.flag == f"--{name.replace('_', '-')}", "the page says that a flag is spelled like its key"
    assert key.default_text in row
    assert key.help in row


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.command)
def test_each_command_has_a_section_that_leads_to_all_its_settings(form: Form[Any]) -> None:
    """A component that several commands have is described once, and linked to from the others."""
    _, _, rest = settings_page().partition(f"\n## nncache {form.command}\n")
    section, _, _ = rest.partition("\n## ")
    for heading in form.headings.values():
        anchor = heading.lower().replace(" ", "-").replace("'", "")  # as GitHub makes it
        assert f"\n### {heading}\n" in section or f"[{heading}](#{anchor})" in section
        assert settings_page().count(f"\n### {heading}\n") == 1


def test_each_metric_has_a_row() -> None:
    """Name and unit, in the section of the daemons that have it; the kind, unless the name tells it."""
    page = metrics_page()
    for metric in METRICS:
        section = page.partition(f"\n## Of {', '.join(f'nncache {daemon}' for daemon in metric.daemons)}\n")[
            2
        ].partition("\n## ")[0]
        assert re.search(
            rf"^- `{metric.name}` \((histogram, )?{re.escape(metric.unit)}\): ", section, re.MULTILINE
        )
        assert (metric.kind == "counter") == metric.name.endswith("_total")


def test_each_value_of_a_label_is_explained_once() -> None:
    """On the page of metrics, or on that of `Cache-Status`."""
    page, reasons = metrics_page(), pages()["cache-status.md"]
    for metric in METRICS:
        for value, meaning in metric.values.items():
            assert page.count(f"\n- `{value}`: {meaning}\n") == 1 or f"\n### {value}\n" in reasons


def test_the_pages_do_not_tell_who_generated_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text on every machine and for every user."""
    before = settings_page()
    monkeypatch.setenv("LOGNAME", "somebody-else")
    assert settings_page() == before
    assert "the operating system's user" in before


def test_pages_are_written_below_the_directory(tmp_path: Path) -> None:
    """`make docs` writes exactly what the test of the house compares."""
    write(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == pages()
