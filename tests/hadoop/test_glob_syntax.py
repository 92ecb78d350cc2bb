"""Parsing globs: their tokens, and which globs are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.glob_syntax import (
    MAX_DEPTH,
    MAX_EXPANDED_ITEMS,
    MAX_EXPANSIONS,
    AnyChar,
    AnyString,
    Component,
    EitherOf,
    GlobError,
    Literal,
    OneOf,
    Token,
    first_wildcard_level,
    parse_glob,
    pitfall,
)
from nncache.hadoop.globs import compile_glob


def shown(token: Token) -> str:
    """Return a token in the notation of the tables."""
    match token:
        case Literal(char):
            return char
        case AnyChar():
            return "<any>"
        case AnyString():
            return "<many>"
        case OneOf(ranges, negated):
            return f"<{'not ' * negated}{' '.join(low if low == high else low + '..' + high for low, high in ranges)}>"
        case EitherOf(alternatives):
            return f"<{' or '.join(named(each) for each in alternatives)}>"


def named(component: Component) -> str:
    """Return a component in the notation of the tables."""
    return "".join(shown(token) for token in component)


def flat(glob: str) -> list[str]:
    """Return the flat globs of a glob in the notation of the tables."""
    return ["/" + "/".join(named(component) for component in components) for components in parse_glob(glob)]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("/", ["/"]),
        ("/a//b/", ["/a/b"]),
        ("/*.a?", ["/<many>.a<any>"]),
        ("/[abc]x", ["/<a b c>x"]),
        ("/[a-c0-9_]", ["/<a..c 0..9 _>"]),
        ("/[^a-c]", ["/<not a..c>"]),
        ("/[!a]!", ["/<not a>!"]),
        ("/[a^!]", ["/<a ^ !>"]),
        ("/[-a]", ["/<- a>"]),
        ("/[a-]", ["/<a ->"]),
        ("/[--a]", ["/<-..a>"]),
        ("/[+--]", ["/<+..->"]),
        ("/[\\]\\-\\[]", ["/<] - [>"]),
        ("/[a,b]", ["/<a , b>"]),
        ("/[a&&b]", ["/<a & & b>"]),
        ("/a\\*\\?\\[\\{\\,\\}\\\\", ["/a*?[{,}\\"]),
        ("/a,b}c]", ["/a,b}c]"]),
        ("/{a,b*}c", ["/<a or b<many>>c"]),
        ("/{a,{b,}}", ["/<a or <b or >>"]),
        ("/{}a", ["/<>a"]),
        ("/{[a\\,],b}", ["/<<a ,> or b>"]),
        # Each alternative with a "/" becomes a glob of its own; others remain alternatives.
        ("/p{a/b,c/d}s", ["/pa/bs", "/pc/ds"]),
        ("/{a/b,c/d,{e,f}}", ["/a/b", "/c/d", "/<e or f>"]),
        ("/{a/b,c}{e,f}", ["/a/b<e or f>", "/c<e or f>"]),
        ("/{a,b}/{b,{c/d,e/f}}", ["/<a or b>/b", "/<a or b>/c/d", "/<a or b>/e/f"]),
        ("/x{/,/y/}", ["/x", "/x/y"]),
        ("{/a,/b/c}", ["/a", "/b/c"]),
        ("/{a/b,c}/\\*", ["/a/b/*", "/c/*"]),
        ("/..a/...", ["/..a/..."]),
    ],
)
def test_a_glob_is_taken_apart(glob: str, expected: list[str]) -> None:
    """A glob is split into flat globs, each into components, each into tokens."""
    assert flat(glob) == expected


@pytest.mark.parametrize(
    ("glob", "position", "reason"),
    [
        ("", 0, "a glob begins with a /"),
        ("a/b", 0, "a glob begins with a /"),
        ("{a,b/c}", 1, "a glob begins with a /"),
        ("//a", 1, "Hadoop takes the name after a leading // for a host"),
        ("/{/a,b}", 2, "Hadoop takes the name after a leading // for a host"),
        ("/a/..", 3, "a glob names its path without . and .. (Hadoop would resolve them)"),
        ("/./a", 1, "a glob names its path without . and .. (Hadoop would resolve them)"),
        ("/a\0", 2, "no name holds a NUL"),
        ("/a\\", 2, "nothing follows the backslash"),
        ("/a\\/b", 2, 'a "/" always separates; it cannot be escaped'),
        ("/\\d", 1, "'d' needs no backslash, and Hadoop may read one as a class of characters"),
        ("/\\é", 1, "'é' needs no backslash, and Hadoop may read one as a class of characters"),
        ("/{a,b", 1, "no } closes this {"),
        ("/{a,{b}", 1, "no } closes this {"),
        ("/[a", 1, "no ] closes this ["),
        ("/[a-", 1, "no ] closes this ["),
        ("/[a/b]", 1, "no ] closes this ["),
        ("/[", 1, "no ] closes this ["),
        ("/[]", 1, "an empty set; a ] in a set is written \\]"),
        ("/[^]", 1, "an empty set; a ] in a set is written \\]"),
        ("/[]a]", 1, "an empty set; a ] in a set is written \\]"),
        ("/[c-a]", 1, "the range c-a is empty"),
        ("/[a-c-e]", 5, "a - that is no range stands first or last in its set"),
        ("/[*]", 2, "a * in a set is written \\*: Hadoop reads it as a dot or a star"),
        ("/[a?]", 3, "a ? in a set is written \\?: Hadoop reads it as a dot"),
        ("/[{]", 2, "a { in a set is written \\{: Hadoop reads it as the start of alternatives"),
        ("/[}]", 2, "a } in a set is written \\}: Hadoop reads it as the end of alternatives"),
        ("/[[:alpha:]]", 2, "a [ in a set is written \\[: Hadoop refuses it"),
        ("/{[a,b],c}", 4, "a comma in a set within {...} is written \\,: Hadoop ends the alternative there"),
        (
            "/\\*/{a/b,c}", 1,
            'Hadoop loses a backslash before the end of {...} with a "/" in it: give each alternative as a glob',
        ),
        (
            "/{a/b,\\*}", 6,
            'Hadoop loses a backslash before the end of {...} with a "/" in it: give each alternative as a glob',
        ),
    ],
)  # fmt: skip
def test_a_glob_is_refused_with_place_and_reason(glob: str, position: int, reason: str) -> None:
    """This includes globs that Hadoop accepts with a meaning that the author hardly intended."""
    with pytest.raises(GlobError) as refused:
        parse_glob(glob)
    assert (refused.value.glob, refused.value.position, refused.value.reason) == (glob, position, reason)
    assert str(refused.value) == f"{glob}: at position {position}: {reason}"
    assert isinstance(refused.value, HadoopError)
    assert isinstance(refused.value, ValueError)


def test_a_glob_expands_to_a_bounded_number_of_globs() -> None:
    """Braces with a "/" multiply; the work stops at the bound."""
    ten = "{" + ",".join(f"{digit}/x" for digit in range(10)) + "}"
    assert len(parse_glob("/" + ten * 3)) == MAX_EXPANSIONS
    with pytest.raises(GlobError, match=f"stands for more than {MAX_EXPANSIONS} globs"):
        parse_glob("/" + ten * 30)


@pytest.mark.parametrize(
    "glob",
    [
        "/{" + ",".join(f"{number}/x" for number in range(900)) + "}" + "a" * 3000,  # each costs its length
        "/" + "{" + "/," * 2000 + "}" + "a" * 3000,  # what waits to be expanded costs, too
    ],
)
def test_a_glob_expands_to_a_bounded_number_of_characters(glob: str) -> None:
    """A filter's author must not be able to block the event loops of all proxies; the work stops at the bound."""
    with pytest.raises(GlobError, match=f"of more than {MAX_EXPANDED_ITEMS} characters together"):
        parse_glob(glob)


def test_a_glob_may_be_long_and_is_refused_when_deep() -> None:
    """Neither a long nor a deep glob exhausts the interpreter's stack."""
    assert len(parse_glob("/" + "{a/b}" * 1500)) == 1
    assert len(parse_glob("/" + "{" * MAX_DEPTH + "}" * MAX_DEPTH)) == 1
    with pytest.raises(GlobError, match=f"more than {MAX_DEPTH} braces within each other"):
        parse_glob("/" + "{" * 5000)


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [("/[a-cx]", "abcx", "dw-"), ("/[^a-c]", "d\n-", "abc"), ("/[-.]", "-.", "a,"), ("/[é-ü]", "éêü", "eè")],
)
def test_a_set_knows_its_characters(glob: str, inside: str, outside: str) -> None:
    """Characters compare by code point, and ranges include both ends."""
    ((token,),) = parse_glob(glob)[0]
    assert isinstance(token, OneOf)
    assert all(token.accepts(char) for char in inside)
    assert not any(token.accepts(char) for char in outside)


@given(st.text("abc/*?[]{},^!-\\. é", max_size=20))
def test_any_path_can_be_named_by_a_glob(text: str) -> None:
    """With a backslash before each special character, a glob means exactly that path."""
    path = "/" + "".join("\\" + char if char in "*?[]{},^!-\\" else char for char in text)
    names = [part for part in text.split("/") if part]
    if {".", ".."} & set(names) or text.startswith("/"):
        return
    assert flat(path) == ["/" + "/".join(names)]


@pytest.mark.parametrize(
    ("glob", "level"),
    [
        ("/", None),
        ("/user/joe", None),
        ("/user/{joe,ann}/x", None),
        ("/user/\\*/x", None),
        ("/*", 1),
        ("/*/x/*", 1),
        ("/user/*", 2),
        ("/user/j?e", 2),
        ("/user/[a-z]/x", 2),
        ("/user/joe/{a,b*}", 3),
        ("/{user/joe/*,tmp/*}", 2),
        ("/user/{a,b{c,d*}}/x", 2),
    ],
)
def test_the_highest_wildcard_counts(glob: str, level: int | None) -> None:
    """Alternatives alone are no wildcard; if some contain one, the highest counts."""
    assert first_wildcard_level(glob) == level


def test_what_is_no_glob_is_refused() -> None:
    """A malformed glob is an error here too."""
    with pytest.raises(GlobError):
        first_wildcard_level("/user/[")


@pytest.mark.parametrize(
    "glob", ["/", "/user/*/x", "/a/b*", "/a/*b*", "/a/{b,c}*", "/a*", "/a?*", r"/a/\\*\\*"]
)
def test_most_globs_mean_what_they_say(glob: str) -> None:
    """Two stars that are separate or escaped are no mistake."""
    assert pitfall(glob) == ""


@pytest.mark.parametrize("glob", ["/user/**/_SUCCESS", "/**", "/a/b**c/d", "/a/{x/**,y}"])
def test_two_stars_are_one_level(glob: str) -> None:
    """Hadoop matches one level, while other tools match any depth."""
    assert pitfall(glob).startswith(f"{glob}: ** stays within one level, as * does in Hadoop")


def test_what_to_write_instead_is_suggested_and_matches() -> None:
    """The suggestion has one glob for each depth."""
    reported = pitfall("/user/**/_SUCCESS")
    assert reported.endswith("such as /user/*/_SUCCESS and /user/*/*/_SUCCESS")
    assert not compile_glob("/user/**/_SUCCESS").matches("/user/a/b/_SUCCESS")
    assert compile_glob("/user/*/*/_SUCCESS").matches("/user/a/b/_SUCCESS")
