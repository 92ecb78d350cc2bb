"""Tell how general a glob is.

Pure. What Hadoop makes of a glob is in `nncache.hadoop.glob_syntax`.
"""

from nncache.hadoop.glob_syntax import Component, EitherOf, Literal, parse_glob


def first_wildcard_level(glob: str) -> int | None:
    """Return the level of the path, 1 below the root, at which a glob has its first wildcard; None for none.

    `*`, `?` and sets are wildcards. Braces are as many globs as they have alternatives: the one whose wildcard stands
    highest counts.

    Raises:
        GlobError: it is none.
    """
    levels = (
        level
        for components in parse_glob(glob)
        for level, component in enumerate(components, start=1)
        if not _is_plain(component)
    )
    return min(levels, default=None)


def _is_plain(component: Component) -> bool:
    return all(
        isinstance(token, Literal)
        or (isinstance(token, EitherOf) and all(map(_is_plain, token.alternatives)))
        for token in component
    )
