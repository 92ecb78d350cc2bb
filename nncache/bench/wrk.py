"""Load by wrk, which sends the requests of a script.

`apt-get install wrk`. A script is in Lua; its function `request` returns the bytes of the next request.
"""

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.testbed.errors import TestbedError
from nncache.testbed.programs import find_program

_TIMEOUT_S: Final = 20.0  # wrk's timeout of a request
_LONGEST_S: Final = 600  # maximum duration of a load
_END_S: Final = 60.0
_DONE: Final = """
done = function(summary, latency)
  local errors, counted = summary.errors, '{"requests": %d, "failed": %d, "p50_s": %.6f}'
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  print(string.format(counted, summary.requests, failed, latency:percentile(50) / 1e6))
end
"""
_STOP: Final = """
local to_come = %d
response = function(status)
  if status ~= 200 and status ~= 404 then
    print("status " .. status)
    os.exit(1)
  end
  to_come = to_come - 1
  if to_come == 0 then os.exit(0) end
end
"""
_ROUND_ROBIN: Final = """\
local requests, number = {{}}, 0
init = function()
  for path = 0, {paths} - 1 do
    requests[path] = wrk.format("GET", {target})
  end
end
request = function()
  number = {following}
  return {request}
end
"""
_HOLD: Final = """
local asked, begins_by, unheld = 0, os.time() + %d, request
request = function()
  asked = asked + 1
  if asked == 2 then  -- wrk looks at the first before it connects
    local gate = io.open("%s")
    while gate == nil and os.time() < begins_by do
      io.popen("sleep 0.1"):close()  -- os.execute would undo what wrk does with signals
      gate = io.open("%s")
    end
    request = unheld
  end
  return unheld()
end
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of the clients."""

    requests: int
    failed: int  # lost connections, timeouts and replies with a status other than 2xx and 3xx
    p50_s: float  # median latency of a request


def round_robin(target: str, paths: int, *, request: str = "requests[number]", following: str = "") -> str:
    """Return a script that sends requests in sequence; all arguments except `paths` are Lua expressions.

    Args:
        target: the request target for the path with the number `path`.
        paths: the number of paths.
        request: the request to send, in terms of `number`; `requests` holds one for each path.
        following: the next `number`; empty: cycle through the paths.
    """
    following = following or f"(number + 1) % {paths}"
    return _ROUND_ROBIN.format(target=target, paths=paths, request=request, following=following)


def ask_for(address: str, script: str, *, connections: int, seconds: int, scheme: str = "http") -> Counted:
    """Load a server for this duration, and return the counts."""
    with _command(address, script, connections, seconds, scheme) as command:
        return _counted(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ask_times(address: str, script: str, *, connections: int, requests: int, within_s: int) -> None:
    """Send requests until this number is answered with 200 or 404. Raises TestbedError on another status or timeout."""
    with _command(address, script + _STOP % requests, connections, within_s) as command:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.stdout.endswith("}\n"):  # wrk reached its time limit
        raise TestbedError(f"{address} has not answered {requests:,} requests in {within_s} s")
    if done.returncode:
        raise TestbedError(f"{address} has not answered {requests:,} requests: {done.stdout + done.stderr}")


@contextmanager
def loading(address: str, script: str, *, connections: int) -> Iterator[list[Counted]]:
    """Load a server until the end of the block, then append the counts to the list."""
    counted = list[Counted]()
    with (
        _command(address, script, connections, _LONGEST_S) as command,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            yield counted
            process.send_signal(signal.SIGINT)  # wrk prints its summary
            output, _ = process.communicate(timeout=_END_S)
        except BaseException:
            process.kill()
            raise
    counted.append(_counted(output))


def held(script: str, gate: Path, longest_s: int) -> str:
    """Return the script, changed to send no request before the file `gate` exists; all connections open before that.

    A server that is busy with some connections accepts others late.
    """
    return script + _HOLD % (longest_s, gate, gate)


def _counted(output: str) -> Counted:
    """Parse the last line of the output, which `done` prints."""
    return Counted(**json.loads(output.splitlines()[-1]))


@contextmanager
def _command(
    address: str, script: str, connections: int, seconds: int, scheme: str = "http"
) -> Iterator[Sequence[str]]:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script + _DONE)
        file.flush()
        command = [find_program("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s"]
        yield [*command, f"--timeout={_TIMEOUT_S:.0f}s", "-s", file.name, f"{scheme}://{address}/"]
