"""What a page of an admin port looks like to its reader."""

import html
import re
import subprocess
from pathlib import Path

from tests.browser.chromium import CHROMIUM, FLAGS


def shown(admin: str, profile: Path, target: str = "/") -> str:
    """Return the page's DOM, once its script has had its answer; `admin` is host:port."""
    assert CHROMIUM is not None
    words = (CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=4000", "--dump-dom")
    ended = subprocess.run(
        (*words, f"http://{admin}{target}"), capture_output=True, check=True, timeout=120, text=True
    )
    return ended.stdout


def text_of(dom: str, id_: str) -> str:
    """Return the text of the element with this id, which holds no other of its kind."""
    found = re.search(rf'<(\w+)[^>]* id="{id_}"[^>]*>(.*?)</\1>', dom, re.DOTALL)
    assert found is not None, id_
    return html.unescape(re.sub("<[^>]+>", " ", found[2]))
