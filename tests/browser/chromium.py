"""A real headless Chromium, driven over the DevTools protocol."""

import asyncio
import html
import itertools
import re
import shutil
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


WIDTHS = (360, 700, 1280)
"""Window widths in pixels; at each, a page must be readable without horizontal scrolling."""

TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


class Tab:
    """An open page."""

    def __init__(self, browser: str, id_: str, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._browser = browser
        self._id = id_
        self._socket = socket
        self._numbers = itertools.count(1)

    async def send(self, method: str, **parameters: object) -> Any:
        """Call a DevTools method; return its result."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while (answer := await self._socket.receive_json()).get("id") != number:
            pass  # an event
        return answer["result"]

    async def value(self, expression: str) -> Any:
        """Evaluate an expression in the page; await a promise. Return the value."""
        ended = await self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        return ended["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until the expression is true in the page; the test's timeout bounds the wait."""
        while True:  # also before the page's script has run
            if await self.value(expression):
                return
            await asyncio.sleep(0.1)

    async def resize(self, width: int) -> None:
        """Set the window's width, in pixels."""
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **metrics)

    async def reached_by_tab(self, times: int) -> list[str]:
        """Press Tab `times` times; return the text or id of each focused element, which must have a visible outline."""
        reached = []
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
                await self.send("Input.dispatchKeyEvent", type=kind, **key)
            reached.append(
                await self.value("document.activeElement.textContent || document.activeElement.id")
            )
            assert await self.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        return reached

    async def hide(self) -> None:
        """Hide the tab behind another one."""
        async with aiohttp.ClientSession() as session:
            async with session.put(f"http://{self._browser}/json/new?about:blank") as reply:
                other = await reply.json()
            await (await session.get(f"http://{self._browser}/json/activate/{other['id']}")).read()

    async def show(self) -> None:
        """Bring the tab to the front."""
        async with aiohttp.ClientSession() as session:
            await (await session.get(f"http://{self._browser}/json/activate/{self._id}")).read()


@asynccontextmanager
async def opened(url: str, profile: Path) -> AsyncIterator[Tab]:
    """Open a page in a browser of its own."""
    assert CHROMIUM is not None
    words = (CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", url)
    process = await asyncio.create_subprocess_exec(*words, stderr=PIPE)
    try:
        browser = await _address(process)
        async with aiohttp.ClientSession() as session:
            page = None
            while page is None:
                async with session.get(f"http://{browser}/json") as reply:
                    page = next((each for each in await reply.json() if each["url"] == url), None)
            async with session.ws_connect(page["webSocketDebuggerUrl"]) as socket:
                yield Tab(browser, page["id"], socket)
    finally:
        process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    """Return the address of the DevTools endpoint, from the browser's output."""
    assert process.stderr is not None
    async for line in process.stderr:
        if found := re.search(r"ws://([^/]+)/", line.decode(errors="replace")):
            return found[1]
    raise AssertionError("Chromium has ended")


def shown(admin: str, profile: Path, target: str = "/") -> str:
    """Return the page's DOM after its script has received its data; `admin` is host:port."""
    assert CHROMIUM is not None
    words = (CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=4000", "--dump-dom")
    ended = subprocess.run(
        (*words, f"http://{admin}{target}"), capture_output=True, check=True, timeout=120, text=True
    )
    return ended.stdout


def text_of(dom: str, id_: str) -> str:
    """Return the text of the element with this id, which must not contain an element of the same tag."""
    found = re.search(rf'<(\w+)[^>]* id="{id_}"[^>]*>(.*?)</\1>', dom, re.DOTALL)
    assert found is not None, id_
    return html.unescape(re.sub("<[^>]+>", " ", found[2]))
