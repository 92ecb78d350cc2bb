"""The names in the pages exist: commands, options, settings, metrics, alerts, reasons, make targets, messages."""

import ast
import contextlib
import json
import re
import shlex
from collections.abc import Container
from pathlib import Path

import click
import pytest

from nncache.commands.cluster import light_command
from nncache.commands.group import nncache
from nncache.metrics.table import METRICS
from nncache.proxy.cache_status import REASONS
from nncache.settings.commands import FORMS, KEYS, PUBLISHER, load_settings
from nncache.settings.federation import load_proxy
from tests.docs.pages import DOCS, PAGES, blocks, inline, shell_lines, shown
from tests.house.tree import ROOT, sources
from tools.docs.json_shapes import shapes
from tools.docs.made import leaves

FOR_OPERATORS = tuple(
    page for page in PAGES if page.name not in {"README.md", "figures.md", "track-record.md"}
)
RULES = (ROOT / "deploy/prometheus/nncache.rules.yml").read_text(encoding="utf-8")
CHOICES = frozenset(choice for form in FORMS for key in form.keys.values() for choice in key.choices)
NOT_OURS = frozenset(
    {
        *("proxy_cache", "proxy_cache_valid"),  # nginx
        "webhdfs_url",  # Hue
        *("rule_files", "runbook_url", "python_info", "scrape_interval"),  # Prometheus
        *("honor_labels", "exported_namespace"),  # Prometheus, too
        *("light_cluster", "light_cluster_of_session"),  # fixtures
        *("first_txid", "last_txid", "through_txid"),  # attributes of a subscriber's events
    }
)
"""Names spelled like a setting that belong to something else."""


def parse(arguments: list[str]) -> None:
    """Parse a command line as `nncache` does, without running it.

    Raises:
        click.UsageError: the command line is invalid.
    """
    context = nncache.make_context("nncache", arguments)
    command: click.Command = nncache
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])  # noqa: SLF001 - as in click's invoke
        assert found is not None
        context, command = found.make_context(name, rest, parent=context), found


def parse_line(line: str) -> None:
    """Parse a shell line if it starts nncache."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["nncache"]:
        with contextlib.suppress(click.exceptions.Exit):  # --version
            parse(words[1:])


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_each_command_line_parses(page: Path) -> None:
    """Lines of blocks must be complete. Those in a sentence may omit arguments."""
    for line in shell_lines(page):
        parse_line(line)
    for code in inline(page):
        if code.startswith("nncache "):
            try:
                parse_line(code)
            except click.MissingParameter:
                pass
            except click.UsageError as error:
                if "Missing command" not in str(error):
                    raise


def test_command_lines_are_looked_at() -> None:
    """The test above must have something to check, and must find errors."""
    assert sum(line.startswith("nncache ") for page in PAGES for line in shell_lines(page)) > 15
    for wrong in (
        "nncache prxy",
        "nncache proxy --nmenode-http a:1",
        "nncache explain",
        "nncache filters add x",
    ):
        with pytest.raises(click.UsageError):
            parse_line(wrong)


def keys_in(value: object) -> set[str]:
    """Return all keys of a JSON value, nested ones included."""
    if isinstance(value, list):
        return set().union(*map(keys_in, value))
    return set(value).union(*map(keys_in, value.values())) if isinstance(value, dict) else set()


OF_JSON = frozenset(
    key
    for name, text in shapes()
    for line in (text.splitlines() if name.endswith("watch") else [text])
    for key in keys_in(json.loads(line))
)
"""Keys of the output of commands with --json."""


def options_of(command: click.Command) -> set[str]:
    """Return all options of a command."""
    return {option for param in command.params for option in (*param.opts, *param.secondary_opts)}


@pytest.mark.parametrize("page", FOR_OPERATORS, ids=shown)
def test_each_name_in_backticks_exists(page: Path) -> None:
    """Options, settings, metrics, recording rules, alerts and reasons."""
    metrics = {metric.name for metric in METRICS}
    reasons = {reason.value for reason in REASONS} | {"not-webhdfs"}
    commands = [nncache, light_command, *(command for _, command in leaves(nncache, ()))]
    options = set().union(*map(options_of, commands))
    unknown = []
    for code in inline(page):
        names: list[tuple[str, Container[str]]] = []
        if re.match(r"--[a-z]", code):
            names += [(re.split(r"[ =]", code)[0], options)]
        names += [(name, metrics) for name in re.findall(r"\bnncache_\w+", code)]
        names += [(name, RULES) for name in re.findall(r"\bnncache:\w+:\w+|\bNncache[A-Z]\w+", code)]
        names += [(name, reasons) for name in re.findall(r"\bdetail=([\w-]+)", code)]
        if re.fullmatch(r"[a-z]+(_[a-z]+)+", code) and not code.startswith("nncache_"):
            names += [(code, KEYS | CHOICES | NOT_OURS | OF_JSON)]
        unknown += [name for name, known in names if name not in known]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_each_target_of_make_exists(page: Path) -> None:
    """Both in blocks and in sentences."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    targets.update(*map(str.split, re.findall(r"^NIGHTLY := (.+)", makefile, re.MULTILINE)))
    lines = [
        line for code in (*inline(page), *shell_lines(page)) for line in re.findall(r"^make ([a-z-]+)", code)
    ]
    assert set(lines) <= targets


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_each_settings_file_can_be_read(page: Path, tmp_path: Path) -> None:
    """Both daemons can read it, since one file serves both."""
    default = "<property><name>fs.defaultFS</name><value>hdfs://nn1.example.com</value></property>"
    (tmp_path / "core-site.xml").write_text(f"<configuration>{default}</configuration>")
    for block in blocks(page):
        if block.language == "toml":
            config = tmp_path / "nncache.toml"
            config.write_text(block.text.replace("/etc/hadoop/conf", str(tmp_path)))
            loaded = load_proxy(config, {})
            for name in loaded.settings:
                chosen: dict[str, object] = {"namespace": name} if name else {}
                load_settings(PUBLISHER, config, {"zookeeper": ("zk1.example.com:2181",), **chosen})


def test_settings_files_are_looked_at() -> None:
    """The test above must have something to check."""
    assert sum(block.language == "toml" for page in PAGES for block in blocks(page)) >= 4
    assert {form.command for form in FORMS} >= {"proxy", "publisher"}


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_each_import_of_a_python_block_is_there(page: Path) -> None:
    """The imports of nncache in examples for applications work."""
    for block in blocks(page):
        if block.language == "python":
            imports = [node for node in ast.walk(ast.parse(block.text)) if isinstance(node, ast.ImportFrom)]
            ours = [node for node in imports if (node.module or "").startswith("nncache.")]
            exec(compile(ast.Module(list(ours), []), shown(page), "exec"), {})  # noqa: S102 - only imports


def messages() -> str:
    """Return all texts of the code that may be printed or logged, with "…" for placeholders."""
    rooms = ("nncache", "proxy", "invalidation", "registry", "cache", "coordination", "hadoop")
    nodes = [
        node for path in sources(*rooms) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return "\n".join(
        re.sub(r"%[sdg]|%\.\d[fg]", "…", node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    )


FILLED_IN = r"…|KEY|VALUE|FILE|DIRECTORY"
FROM_ELSEWHERE = frozenset({"address already in use", "Got unexpected extra arguments"})
"""Messages of the kernel and of click."""


def test_each_message_of_the_runbook_is_one_of_the_code() -> None:
    """Readers search for the messages and log lines that start its list items."""
    texts = messages()
    page = (DOCS / "runbook.md").read_text(encoding="utf-8")
    quoted = [
        message
        for row in re.findall(r"^- ((?:`[^`]+`(?:, )?)+): ", page, re.MULTILINE)
        for message in re.findall(r"`([^`]+)`", row)
    ]
    assert len(quoted) > 30
    missing = [
        message
        for message in quoted
        if message not in FROM_ELSEWHERE
        and not all(part.strip(" :;") in texts for part in re.split(FILLED_IN, message))
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_each_list_is_one(page: Path) -> None:
    """On the site, a list without an empty line before it becomes part of the paragraph."""
    before = ""
    for line in re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    ).splitlines():
        begins = re.match(r"(- |\d+\. )", line)
        assert not (begins and before and not re.match(r"\s|- |\d+\. |<!--", before)), line
        before = line
