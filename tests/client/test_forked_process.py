"""A blocking client in a process that was forked while it was open."""

import subprocess
import sys

from tests.patience import HANG_S


def test_in_a_forked_process_a_call_is_an_error() -> None:
    """The loop's thread is not there, so the call, and the end of the block, would wait forever."""
    code = f"""
import os, signal
from nncache.client.portal import BlockingPortal

async def answer():
    return 42

portal = BlockingPortal("a-portal")
if not os.fork():
    signal.alarm({HANG_S:.0f})
    for call in (lambda: portal.wait_for(answer()), portal.close):
        try:
            call()
        except RuntimeError as error:
            print(error, flush=True)
    os._exit(0)
os.wait()
print(portal.wait_for(answer()))
"""
    done = subprocess.run(
        (sys.executable, "-W", "ignore", "-c", code), stdout=subprocess.PIPE, text=True, check=True
    )
    first, second, *others = done.stdout.splitlines()
    assert first == second
    assert first.startswith("nothing would answer this call: its block was left, or was entered before")
    assert others == ["42"]
