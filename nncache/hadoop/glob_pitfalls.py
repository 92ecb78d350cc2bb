"""Tell globs that match less than they seem to.

Pure. What Hadoop makes of a glob is in `nncache.hadoop.glob_syntax`.
"""

from itertools import pairwise

from nncache.hadoop.glob_syntax import AnyString, Component, parse_glob


def pitfall(glob: str) -> str:
    """Return what a glob that can be read does not do, though it looks like it; "" if there is nothing.

    Raises:
        GlobError: it is none.
    """
    if any(_is_doubled(component) for components in parse_glob(glob) for component in components):
        return (
            f"{glob}: ** stays within one level, as * does in Hadoop: give a glob for each depth, "
            f"such as {glob.replace('**', '*')} and {glob.replace('**', '*/*')}"
        )
    return ""


def _is_doubled(component: Component) -> bool:
    return any(isinstance(a, AnyString) and isinstance(b, AnyString) for a, b in pairwise(component))
