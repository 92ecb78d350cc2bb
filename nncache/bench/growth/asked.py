"""What is asked for, as scripts for wrk.

Pure. Asked for again and again are directories; what else is in the cache is paths that do not exist, asked for once.
"""

from dataclasses import dataclass
from typing import Final

from nncache.bench.growth.figures import Way

ROOT: Final = "/bench-growth"
DIRECTORIES: Final = 10
"""Above the paths; each is granted to each caller that asks for something in it."""
PATHS: Final = 1_000
MOST_PATHS: Final = 10_000
GLOB: Final = f"{ROOT}/?/*"
"""Of all that is asked for."""

_TARGETS: Final = f"""\
local number = 0
local function target(path, caller)
  return string.format("/webhdfs/v1{ROOT}/%d/%d?op=GETFILESTATUS&user.name=u%05d", path % {DIRECTORIES}, path, caller)
end
local function missing(path)
  return string.format("/webhdfs/v1{ROOT}/%d/none-%07d?op=GETFILESTATUS&user.name=u00000", path % {DIRECTORIES}, path)
end
"""
_AGAIN: Final = """\
local heads = {{}}
init = function()
  for path = 0, {paths} - 1 do
    heads[path] = wrk.format("GET", target(path, path % {callers}))
  end
end
request = function()
  number = (number + 1) % {paths}
  return {request}
end
"""
_REQUESTS: Final = {
    Way.KNOWN: "heads[number]",
    Way.PARSED: "differing(heads[number])",
}
_DIFFERING: Final = """\
local begun, made = os.time(), 0
local function differing(head)
  made = made + 1
  return string.format("%sX-Number: %d-%d\\r\\n\\r\\n", head:sub(1, -3), begun, made)
end
"""
_FILL: Final = """\
request = function()
  number = (number + 1) % {entries}
  if number % {apart} == 0 then return wrk.format("GET", target(number / {apart}, 0)) end
  return wrk.format("GET", missing(number))
end
"""
_MAKE: Final = """\
request = function()
  number = (number + 1) % {paths}
  return wrk.format("PUT", string.format("{target}", number % {directories}, number))
end
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for in turn: so many paths, each by one of so many callers."""

    paths: int = PATHS
    callers: int = 1


def globs(filters: int) -> tuple[str, ...]:
    """Return so many globs: one for each directory of what is asked for, all others match nothing of that.

    Those reach into every directory, so that a matcher which tries one after the other would have to try them all.
    """
    of_directories = (f"{ROOT}/{number}/*" for number in range(DIRECTORIES))
    others = (f"{ROOT}/?/part-{number:05}-*" for number in range(filters - DIRECTORIES))
    return *of_directories, *others


def script(asked: Asked, way: Way) -> str:
    """Return a script that asks for all of it, again and again."""
    again = _AGAIN.format(paths=asked.paths, callers=asked.callers, request=_REQUESTS[way])
    return _TARGETS + _DIFFERING + again


def filling(entries: int) -> str:
    """Return a script that asks once for so many paths; `PATHS` of them, evenly spread, are those asked for again."""
    return _TARGETS + _FILL.format(entries=entries, apart=entries // PATHS)


def making(superuser: str) -> str:
    """Return a script that makes all paths that are asked for again and again, at a NameNode."""
    target = f"/webhdfs/v1{ROOT}/%d/%d?op=MKDIRS&user.name={superuser}"
    return _TARGETS + _MAKE.format(paths=MOST_PATHS, directories=DIRECTORIES, target=target)
