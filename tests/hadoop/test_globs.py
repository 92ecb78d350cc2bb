"""Matching paths against one glob or many."""

import gc
import random
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.hadoop.globs import GlobError, GlobSet, compile_glob
from nncache.hadoop.paths import ancestors

# Results of GlobExpander and GlobFilter of Hadoop 3.4.1 and 3.5.0, equal in both, component by component as in
# Globber. (They agreed for 187,000 random pairs of a glob that is accepted here and a path made from it.)
MEASURED = """
/a*                 /a              yes
/a*                 /abc            yes
/a*                 /a/b            no
/*                  /.hidden        yes
/*                  /a/b            no
/?                  /é              yes
/?                  /😀             yes
/?                  /ab             no
/[a-c]x             /bx             yes
/[a-c]x             /dx             no
/[^a-c]x            /dx             yes
/[!a-c]x            /bx             no
/[a^]               /^              yes
/[+--]              /,              yes
/[.]                /a              no
/{a,bc}d            /bcd            yes
/{a,bc}d            /bd             no
/{a,{b,c}x}         /cx             yes
/{a,}b              /b              yes
/a{}b               /ab             yes
/p{a/b,c/d}s        /pc/ds          yes
/p{a/b,c/d}s        /pa/ds          no
/{a/b,c}/*          /c/x            yes
/{a/b,c}/*          /a/b/x          yes
/{a/b,c}/*          /a/x            no
/x{/,/y/}           /x              yes
/x{/,/y/}           /x/y            yes
/a\\*b              /a*b            yes
/a\\*b*             /axb            no
/a}b                /a}b            yes
/a,b                /a,b            yes
/a//b/              /a/b            yes
/a$(|)+             /a$(|)+         yes
/a.b*               /axb            no
/A                  /a              no
"""


@pytest.mark.parametrize("row", MEASURED.strip().splitlines())
def test_globs_match_as_in_hadoop(row: str) -> None:
    """Each row of the table is tested by itself."""
    glob, path, expected = row.replace("\\\\", "\\").split()
    assert compile_glob(glob).matches(path) is (expected == "yes")


def test_a_line_feed_is_no_character_to_a_wildcard() -> None:
    """In Hadoop's regular expressions "." matches anything else; a set may still contain or exclude it."""
    globs = GlobSet({"many": "/a*b", "any": "/a?b", "set": "/a[^x]b", "itself": "/a\nb"})
    assert globs.names_matching("/a\nb") == {"set", "itself"}


def test_the_root_is_matched_by_its_own_glob_alone() -> None:
    """An empty name is no name, so no wildcard matches it."""
    globs = GlobSet({"root": "/", "star": "/*", "either": "/{,a}", "deep": "/a/b"})
    assert globs.names_matching("/") == {"root"}
    assert globs.may_match_below("/")
    assert not GlobSet({"root": "/"}).may_match_below("/")
    assert not GlobSet({}).matches("/")


def test_names_of_all_matching_globs_are_given() -> None:
    """Two names may have the same glob, and one path may match many globs."""
    globs = GlobSet(
        {"a": "/user/*/x", "b": "/user/joe/*", "c": compile_glob("/user/joe/x"), "d": "/user/*/x", "e": "/y"}
    )
    assert globs.names_matching("/user/joe/x") == {"a", "b", "c", "d"}
    assert globs.names_matching("/user/joe") == frozenset()
    assert globs.matches("/user/bob/x")
    assert not globs.matches("/user/bob/y")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", True),
        ("/user", True),
        ("/user/joe", True),
        ("/user/joe/x", False),
        ("/use", False),
        ("/y", False),
    ],
)
def test_it_is_known_where_nothing_can_match_below(path: str, expected: bool) -> None:
    """A directory counts if a part of some glob remains for its contents."""
    assert GlobSet({"a": "/user/*/x", "b": "/y"}).may_match_below(path) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", True),
        ("/new", True),
        ("/user", True),
        ("/user/joe/x", True),
        ("/user/joe/x/new", True),
        ("/user/joe/x/new/f", False),
        ("/user/joe/y", False),
        ("/other/joe", False),
    ],
)
def test_what_comes_or_goes_concerns_its_place(path: str, expected: bool) -> None:
    """A place is a path, its parent and all below it; the root is the parent of its children."""
    assert GlobSet({"a": "/user/*/x", "b": "/"}).may_concern(path) is expected
    assert not GlobSet({"a": "/user"}).may_concern("/other")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("/other", "/other"),
        ("/other/x", "/other"),
        ("/user/joe/x", "/user/joe/x"),
        ("/user/joe/x/new/f", "/user/joe/x/new"),
        ("/user/joe/y", "/user/joe"),
    ],
)
def test_the_lowest_ancestor_that_concerns_a_glob(path: str, expected: str) -> None:
    """A change below that ancestor concerns no glob."""
    assert GlobSet({"a": "/user/*/x", "b": "/"}).lowest_concern(path) == expected


def test_no_ancestor_concerns_an_empty_set() -> None:
    """Without globs no path is concerned."""
    assert GlobSet({}).lowest_concern("/user") is None


def test_a_wrong_glob_is_named() -> None:
    """A set with a malformed glob is an error that names it."""
    with pytest.raises(GlobError, match="no } closes this"):
        GlobSet({"a": "/x", "b": "/{"})


# -- a naive twin: a glob as plain choices, matched by brute force ------------------------------------

SAFE = "abc.é"
CHARS = st.sampled_from(SAFE)
SETS = st.builds(
    lambda negated, members: ("[" + negated + "".join(members) + "]", ("set", bool(negated), tuple(members))),
    st.sampled_from(["", "^", "!"]),
    st.lists(st.sampled_from(["a", "b", "é", "a-c", ".-b"]), min_size=1, max_size=3),
)
Piece = tuple[str, object]
"""A piece of a glob: its text, and the twin's representation."""


def either(pieces: st.SearchStrategy[Piece]) -> st.SearchStrategy[Piece]:
    """Return alternatives of sequences of pieces."""
    return st.lists(st.lists(pieces, max_size=3), min_size=1, max_size=3).map(
        lambda lists: (
            "{" + ",".join("".join(text for text, _ in pieces) for pieces in lists) + "}",
            ("either", [[what for _, what in pieces] for pieces in lists]),
        )
    )


PIECES: st.SearchStrategy[Piece] = st.recursive(
    CHARS.map(lambda char: (char, ("char", char)))
    | st.sampled_from([("*", ("many",)), ("?", ("any",)), ("/", ("char", "/")), ("\\*", ("char", "*"))])
    | SETS,
    either,
    max_leaves=8,
)
GLOBS = st.lists(PIECES, min_size=1, max_size=6).map(
    lambda pieces: (
        "/a" + "".join(text for text, _ in pieces),
        [("char", "/"), ("char", "a"), *(what for _, what in pieces)],
    )
)
PATHS = st.lists(st.text(SAFE + "*", min_size=1, max_size=3), min_size=1, max_size=4).map(
    lambda names: "/" + "/".join(["a" + names[0], *names[1:]])
)


def choices(sequence: list[object]) -> Iterator[tuple[object, ...]]:
    """Yield all sequences without alternatives that a sequence expands to."""
    if not sequence:
        yield ()
        return
    head, rest = sequence[0], sequence[1:]
    match head:
        case ("either", list(lists)):
            # Without a "/" it is part of one name, even if the chosen alternative is empty.
            part = [] if holds_slash(head) else [("part",)]
            for one in lists:
                yield from choices([*part, *one, *rest])
        case _:
            for others in choices(rest):
                yield (head, *others)


def holds_slash(what: object) -> bool:
    """Return whether alternatives contain a "/" at any depth."""
    match what:
        case ("either", list(lists)):
            return any(holds_slash(each) for one in lists for each in one)
    return what == ("char", "/")


def twin_matches(sequence: list[object], path: str) -> bool:
    """Try each choice as a regular expression with slashes."""
    for choice in choices(sequence):
        pattern = ""
        for what in choice:
            match what:
                case ("char", "/"):
                    pattern += "/"
                case ("char", str(char)):
                    pattern += re.escape(char)
                case ("part",):
                    pattern += "(?:)"
                case ("many",):
                    pattern += "[^/\n]*"
                case ("any",):
                    pattern += "[^/\n]"
                case ("set", bool(negated), tuple(members)):
                    pattern += f"(?!/)[{'^' * negated}{''.join(members)}]"
        # Adjacent slashes of the glob collapse.
        if re.fullmatch(re.sub("/+", "/", pattern.rstrip("/")), path):
            return True
    return False


def accepted(globs: list[tuple[str, list[object]]]) -> list[tuple[str, list[object]]]:
    """Omit globs that are refused for a reason (a lost backslash, `..`)."""

    def is_read(glob: str) -> bool:
        try:
            compile_glob(glob)
        except GlobError:
            return False
        return True

    return [(text, sequence) for text, sequence in globs if is_read(text)]


@settings(max_examples=100)
@given(st.lists(GLOBS, max_size=6).map(accepted), st.lists(PATHS, min_size=1, max_size=8))
def test_a_set_matches_what_its_naive_twin_matches(
    globs: list[tuple[str, list[object]]], paths: list[str]
) -> None:
    """For any globs and paths, with any limit on the automaton's memory."""
    texts = {str(number): text for number, (text, _) in enumerate(globs)}
    roomy, tight = GlobSet(texts), GlobSet(texts, max_steps=3)
    for path in paths:
        expected = {str(number) for number, (_, sequence) in enumerate(globs) if twin_matches(sequence, path)}
        assert roomy.names_matching(path) == expected
        assert tight.names_matching(path) == expected
        assert roomy.matches(path) is bool(expected)
        assert {name for name, text in texts.items() if compile_glob(text).matches(path)} == expected
        expects = roomy.may_match_below(path) or expected or roomy.matches(path[: path.rindex("/")] or "/")
        assert roomy.may_concern(path) is tight.may_concern(path) is bool(expects)
        line = (path, *ancestors(path)) if path != "/" else (path,)
        concerned = [place for place in line if roomy.may_concern(place)]
        assert roomy.lowest_concern(path) == tight.lowest_concern(path) == next(iter(concerned), None)
        assert concerned == list(line[len(line) - len(concerned) :]), "all above one that concerns do as well"
        for end in (at for at, char in enumerate(path) if char == "/" and expected):
            assert roomy.may_match_below(path[:end] or "/")
    assert tight.remembered_steps <= 3


# -- work, counted ---------------------------------------------------------------------------------------

MANY = [
    ("literal ends", lambda number: f"/user/*/workflow/job{number}/_SUCCESS"),
    ("literal beginnings", lambda number: f"/data{number}/*/[0-9]*/_SUCCESS"),
    ("wildcards within", lambda number: f"/warehouse/*{number}.db/part-*"),
    ("braces", lambda number: f"/logs/{{app{number},batch/run{number}}}/*.done"),
]
ASKED = [
    "/user/joe/workflow/job7/_SUCCESS",
    "/user/ann/workflow/job9999/_SUCCESS",
    "/data3/x/2026/_SUCCESS",
    "/data3/x/y/_SUCCESS",
    "/warehouse/sales_7.db/part-00001",
    "/warehouse/none/part-1",
    "/logs/app5/x.done",
    "/logs/batch/run5/x.done",
    "/apps/some/other/path/that/no/glob/is/about",
]


@pytest.mark.parametrize(("kind", "glob"), MANY, ids=[kind for kind, _ in MANY])
def test_a_thousand_globs_cost_about_as_much_as_ten(kind: str, glob: Callable[[int], str]) -> None:
    """A known path costs one look-up per character; a new one hardly more with a thousand globs."""
    visited = {}
    for size in (10, 1000):
        globs = GlobSet({str(number): glob(number) for number in range(size)})
        for path in ASKED:
            globs.matches(path)
        # At most one step per character: prefixes are shared, and a dead end is one state.
        steps = globs.computed_steps
        assert steps <= sum(map(len, ASKED)), kind
        visited[size] = globs.visited_nodes
        for path in ASKED:
            globs.matches(path)
        assert (globs.computed_steps, globs.visited_nodes) == (steps, visited[size]), kind
    assert visited[1000] <= 2 * visited[10] + 1000, kind


def test_what_is_remembered_is_bounded() -> None:
    """Paths that all differ fill the automaton; it is emptied, and its results stay correct."""
    globs = GlobSet({"a": "/x/*/end"}, max_steps=50)
    for number in range(200):
        assert globs.matches(f"/x/{number}/end")
        assert not globs.matches(f"/x/{number}/{chr(0x400 + number)}")
        assert globs.remembered_steps <= 50
    assert globs.forgotten > 0


MANY_NODES = [
    ("any characters", {"x": "/logs/*_" + "?" * 32}, "_ab"),
    ("many globs", {str(number): f"/logs/*_{chr(97 + number)}*_*" for number in range(26)}, "_abcdefgh"),
    ("one glob of many", {str(number): "/logs/*_???????" for number in range(100)}, "_ab"),
]


@pytest.mark.parametrize(("kind", "texts", "alphabet"), MANY_NODES, ids=[kind for kind, _, _ in MANY_NODES])
def test_what_is_remembered_of_many_nodes_is_bounded(kind: str, texts: dict[str, str], alphabet: str) -> None:
    """A few paths create a state per character, with many nodes or names: limiting steps does not limit bytes."""
    chance = random.Random(1)
    paths = ["/logs/" + "".join(chance.choices(alphabet, k=200)) for _ in range(40)]
    tight, roomy = GlobSet(texts, max_nodes=2_000), GlobSet(texts)
    tracemalloc.start()
    try:
        for path in paths:
            tight.names_matching(path)
            assert tight.remembered_nodes < 2_000 + 120, "more than the last state is beyond the bound"
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 500_000, f"{kind}: {most} bytes"
    assert tight.forgotten > 0
    for path in paths:
        assert tight.names_matching(path) == roomy.names_matching(path)


@settings(max_examples=200)
@given(
    st.lists(GLOBS, max_size=6).map(accepted),
    st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=4),
    st.lists(PATHS, min_size=1, max_size=8),
    st.sampled_from([3, 1000]),
)
def test_a_set_that_changes_is_like_one_made_at_once(
    globs: list[tuple[str, list[object]]], sets: list[frozenset[int]], paths: list[str], max_steps: int
) -> None:
    """Earlier queries and cached states have no influence, and removed globs leave nothing in memory."""
    changed = GlobSet({}, max_steps=max_steps)
    for chosen in (*sets, frozenset(range(6)), sets[0]):
        texts = {str(number): text for number, (text, _) in enumerate(globs) if number in chosen}
        at_once = GlobSet(texts)
        changed.change_to(texts)
        assert nodes_of(changed) == nodes_of(at_once)
        for path in reversed(paths):  # the first one was queried last
            assert changed.names_matching(path) == at_once.names_matching(path)
            assert changed.may_match_below(path) is at_once.may_match_below(path)
            assert changed.lowest_concern(path) == at_once.lowest_concern(path)


@pytest.mark.parametrize("gone", ["1", "2", "3", "4", "5", "6"])
def test_what_others_share_with_a_glob_that_goes_stays(gone: str) -> None:
    """Its own nodes are removed: alternatives, including equal and empty ones, wildcards and sets."""
    texts = dict(
        enumerate(["/{a,a,b*,}c/x", "/{a,a,b*,}c/y", "/a", "/b*c/x", "/[ab]?/x", "/{a/b,a/b,a}/x"], 1)
    )
    globs = GlobSet({str(number): text for number, text in texts.items()})
    left = {str(number): text for number, text in texts.items() if str(number) != gone}
    globs.change_to(left)
    assert nodes_of(globs) == nodes_of(GlobSet(left))
    for path in ("/ac/x", "/bbc/y", "/c/x", "/a", "/bc/x", "/ab/x", "/a/b/x", "/a/x"):
        assert globs.names_matching(path) == GlobSet(left).names_matching(path)
    globs.change_to({})
    assert nodes_of(globs) == 1, "the first"


def nodes_of(globs: GlobSet) -> int:
    """Return the number of nodes that a set references."""
    seen: dict[int, object] = {}
    waiting: list[object] = [globs]
    while waiting:
        found = waiting.pop()
        if id(found) not in seen and (isinstance(found, GlobSet | dict | tuple) or is_node(found)):
            seen[id(found)] = found
            waiting += gc.get_referents(found)
    return sum(map(is_node, seen.values()))


def is_node(found: object) -> bool:
    """Return whether an object is a node of globs."""
    return type(found).__name__ == "_Node"


@pytest.mark.parametrize("later", [{}, {"b": "/b"}, {"a": "/c", "b": "/b"}])
def test_of_a_glob_that_goes_nothing_is_left(later: dict[str, str]) -> None:
    """This also holds if another glob takes its name."""
    globs = GlobSet({"a": "/a", "root": "/"})
    assert globs.names_matching("/a") == {"a"}
    globs.change_to(later)
    assert not globs.matches("/a")
    assert not globs.matches("/")
    assert globs.names_matching("/c") == {name for name, text in later.items() if text == "/c"}


def test_what_a_set_remembers_goes_with_it() -> None:
    """This includes the states after a "*", which reference themselves, although no garbage collector runs."""
    kept = GlobSet({"a": "/x/*/end", "b": "/y"})
    gc.disable()
    tracemalloc.start()
    try:
        for later in ({"a": "/x/*"}, {"a": "/x/*/y"}, {"b": "/x/*/z"}):
            for number in range(2_000):
                kept.matches(f"/x/a{chr(0x400 + number % 1_000)}/{number}/z")
                if number == 1_000:
                    kept.change_to(later)
            kept = GlobSet(later)
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert kept.remembered_steps == 0
    assert left < 50_000, f"{left} bytes"


def test_a_glob_that_goes_costs_what_it_is_itself() -> None:
    """There are 2,000 other globs, and none of them is parsed or built again."""
    texts = {str(number): f"/logs/{{app{number},batch/run{number}}}/*.done" for number in range(2_000)}
    globs = GlobSet(texts)
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        globs.change_to({name: text for name, text in texts.items() if name != "7"})
    finally:
        sys.setprofile(None)
    assert not globs.matches("/logs/app7/x.done")
    assert globs.names_matching("/logs/batch/run77/x.done") == {"77"}
    assert steps < 10_000, "of which 8,000 are looks at the 2,000 names"


def test_a_set_that_cannot_change_is_unchanged() -> None:
    """All globs are parsed before any is removed or added."""
    globs = GlobSet({"a": "/a"})
    with pytest.raises(GlobError):
        globs.change_to({"b": "/b", "c": "/{"})
    assert globs.matches("/a")
    assert not globs.matches("/b")
    globs.change_to({"b": "/b"})
    assert globs.matches("/b")


@pytest.mark.parametrize("glob", ["/a/*", "/a/{b,*}", "/a/?*", "/*/*"])
def test_a_name_is_read_to_its_end_where_that_can_matter(glob: str) -> None:
    """After a final "*" only a line feed matters, which it does not match."""
    globs = GlobSet({"x": glob})
    for long in ("bc" * 40, "b.c" * 40):
        assert globs.matches(f"/a/{long}")
        assert not globs.matches(f"/a/{long}\nc")
        assert not globs.matches(f"/a/{long}/c")


def test_globs_with_the_same_alternatives_share_a_node() -> None:
    """Both match, and the text after the alternatives tells them apart."""
    globs = GlobSet({"x": "/{a,b}/x", "y": "/{a,b}/y"})
    assert [globs.names_matching(path) for path in ("/a/x", "/b/y", "/c/x")] == [{"x"}, {"y"}, frozenset()]
