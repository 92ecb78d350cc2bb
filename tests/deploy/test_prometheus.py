"""The rules pass promtool, and the names in them exist."""

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from nncache.metrics.table import METRICS
from tests.house.tree import ROOT

RULES = ROOT / "deploy" / "prometheus" / "nncache.rules.yml"
CASES = ROOT / "tests" / "deploy" / "nncache.rules.test.yml"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()

PAGES = "https://nncache.example.com"
"""The placeholder of the operators' own site; docs/operating.md says how to set it."""

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="apt-get install prometheus")


def rules() -> list[dict[str, Any]]:
    """Return all rules."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}


@needs_promtool
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("check", "rules", RULES), id="the file as a whole"),
        pytest.param(("check", "config", RULES.parent / "prometheus.yml"), id="what to scrape"),
        pytest.param(("test", "rules", CASES), id="each fires when it should, and not otherwise"),
    ],
)
def test_promtool_finds_nothing_wrong(words: tuple[object, ...]) -> None:
    """Prometheus' own tool checks the files and runs the cases."""
    command = ["promtool", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_case_of_either_kind() -> None:
    """It fires in one case and stays silent in another."""
    fired, silent = set[str](), set[str]()
    for case in yaml.safe_load(CASES.read_text())["tests"]:
        for test in case.get("alert_rule_test", ()):
            (fired if test["exp_alerts"] else silent).add(test["alertname"])
    assert fired == silent == ALERTS.keys()


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_to_do(name: str) -> None:
    """It has a severity, a minimum duration, and a runbook entry of three parts."""
    alert = ALERTS[name]
    assert alert["for"]
    assert alert["labels"]["severity"] in {"page", "ticket"}
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["runbook_url"] == f"{PAGES}/runbook.html#{name.lower()}"
    entry = RUNBOOK.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    for part in ("**Means**", "**Look at**", "**Do**"):
        assert part in entry


def test_the_runbook_has_no_other_entries() -> None:
    """A removed alert must not leave an entry."""
    assert set(re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE)) == ALERTS.keys()


def test_what_they_name_is_there() -> None:
    """Metrics and other rules are referred to by their names."""
    names = {metric.name for metric in METRICS} | {rule["record"] for rule in rules() if "record" in rule}
    named = {name for rule in rules() for name in re.findall(r"\bnncache[:_][\w:]+", rule["expr"])}
    assert named <= names
    assert len(named) > len(ALERTS)
    assert set(re.findall(r"`(nncache_\w+)`", RUNBOOK)) <= names
