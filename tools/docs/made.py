"""Pages of docs/ that are generated: the templates `pages/NAME.j2` with the rows of the code's tables."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import jinja2

from nncache.checks.table import CHECKS, SETTINGS
from nncache.commands.group import PROGRAM, nncache
from nncache.metrics.metric import Metric
from nncache.metrics.table import METRICS
from nncache.proxy.cache_status import COLLAPSED, HIT, NOT_ADMITTED, NOT_WEBHDFS, REASONS, forwarded
from nncache.proxy.traffic import MEANINGS
from nncache.settings.commands import FORMS
from nncache.settings.keys import COMMA_SEPARATED, SettingKey, SettingKind, keys_of
from tools.docs.json_shapes import shapes

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("pages")),
    autoescape=False,  # noqa: S701 - Markdown of ours
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_REASONS: Final = {reason.value for reason in REASONS}


def _page(name: str, **values: object) -> str:
    return _TEMPLATES.get_template(f"{name}.j2").render(values)


def check_page() -> str:
    """Return the page of all checks."""
    return _page("check.md", settings=SETTINGS, checks=CHECKS)


def reasons_page() -> str:
    """Return the page of the values of `Cache-Status`."""
    statuses = {"hit": HIT, "collapsed": COLLAPSED, "not_webhdfs": NOT_WEBHDFS, "not_admitted": NOT_ADMITTED}
    sections = [
        (
            explained.is_open,
            (reason.value, forwarded(reason, is_shown=True), explained.meaning, explained.to_do),
        )
        for reason, explained in REASONS.items()
    ]
    for_all, shown = ([each for is_open, each in sections if is_open is of] for of in (True, False))
    return _page("cache-status.md", for_all=for_all, shown=shown, **statuses)


def settings_page() -> str:
    """Return the page of all settings, by command and component."""
    commands: list[tuple[str, list[tuple[str, list[str]]], list[str]]] = []
    described: set[type] = set()
    for form in FORMS:
        parts, others = list[tuple[str, list[str]]](), list[str]()
        for field, component in form.components.items():
            heading = form.headings[field]
            if component in described:
                others.append(f"[{heading}](#{_anchor(heading)})")
            else:
                described.add(component)
                parts.append((heading, [_setting(key) for key in keys_of([component])]))
        commands.append((form.command, parts, others))
    split = ", ".join(f"`{name}`" for name in sorted(COMMA_SEPARATED))
    return _page("settings.md", commands=commands, comma_separated=split)


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub and others generate for a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _setting(key: SettingKey) -> str:
    choices = f" One of {', '.join(f'`{choice}`' for choice in key.choices)}." if key.choices else ""
    default = key.default_text + (", a list" if key.kind is SettingKind.LIST else "")
    return f"`{key.name}`{f' ({default})' if default else ''}: {key.help}{choices}"


def metrics_page() -> str:
    """Return the page of all metrics, by daemon."""
    groups: dict[str, list[Metric]] = {}
    for metric in METRICS:
        groups.setdefault(", ".join(f"nncache {daemon}" for daemon in metric.daemons), []).append(metric)
    # Labels with the same values share a list; the reasons of `Cache-Status` have a separate page.
    results = tuple((each.value, meaning) for each, meaning in MEANINGS.items())
    labels = {results: ["`nncache_requests_total`, label `result`"]}
    for metric in METRICS:
        if metric.values and not _REASONS.issuperset(metric.values):
            label = f"`{metric.name}`, label `{metric.labels[0]}`"
            labels.setdefault(tuple(metric.values.items()), []).append(label)
    by_names = [("; ".join(names), values) for values, names in labels.items()]
    return _page("metrics.md", groups=groups.items(), measured=_measured, labels=by_names)


def _measured(metric: Metric) -> str:
    """Return the unit, with the kind if the name does not imply it."""
    usual = "counter" if metric.name.endswith("_total") else "gauge"
    return metric.unit if metric.kind == usual else f"{metric.kind}, {metric.unit}"


def commands_page() -> str:
    """Return the page of all commands."""
    commands = [_section(words, command) for words, command in leaves(nncache, ())]
    return _page("commands.md", commands=commands, shapes=shapes())


def leaves(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command that is not a group, after the words that call it."""
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            _, each, _ = command.resolve_command(click.Context(command), [name])
            assert each is not None
            yield from leaves(each, (*words, name))
    else:
        yield words, command


def _section(words: tuple[str, ...], command: click.Command) -> dict[str, Any]:
    title = " ".join((PROGRAM, *words))
    context = click.Context(command, info_name=title)
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    forms = {form.command: form for form in FORMS}
    name = next((name for name in (" ".join(words), words[0]) if name in forms), "")
    of_form = {key.flag for key in forms[name].keys.values()} if name else set()
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    own = [each for each in options if each.opts[0] not in of_form]
    return {
        "title": title,
        "usage": " ".join(command.collect_usage_pieces(context)),
        "text": "\n\n".join(
            re.sub(r"(?<=\.) (?=[A-Z])", "\n", each.replace("\n", " ")) for each in paragraphs
        ),
        "options": [
            (_spelled(each), re.sub(r"\s+", " ", each.help or "").replace("|", "\\|")) for each in own
        ],
        "form": name.replace(" ", "-"),
        "settings": [f"`{each.opts[0]}`" for each in options if each.opts[0] in of_form],
    }


def _spelled(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return f"`{option.opts[0]}{value}`" + (" (must be given)" if option.required else "")


KEPT: Final[dict[str, Callable[[], str]]] = {
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "cache-status.md": reasons_page,
}
"""The pages in git, by name, since people search them there. `make docs` writes them."""

OF_THE_SITE: Final[dict[str, Callable[[], str]]] = {"check.md": check_page, "commands.md": commands_page}
"""The pages that only the site has, by name (`site.py`)."""
