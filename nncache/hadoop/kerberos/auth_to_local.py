"""Map Kerberos principals to short names as a NameNode does.

Pure. Source: `hadoop.security.auth_to_local` and org.apache.hadoop.security.authentication.util.KerberosName of Hadoop
3.5.0, mechanism `hadoop`; `tests/contracts/test_authentication_rules.py` compares both. A rule whose regular expression
Python would read in another way than Java is refused.
"""

import re
from dataclasses import dataclass
from typing import Final

MECHANISM_KEY: Final = "hadoop.security.auth_to_local.mechanism"
RULES_KEY: Final = "hadoop.security.auth_to_local"
DEFAULT_RULES: Final = "DEFAULT"

_NAME: Final = re.compile(r"(?P<service>[^/@]+)(?:/(?P<host>[^/@]+))?@(?P<realm>[^/@]+)")
_RULE: Final = re.compile(
    r"\s*(?:DEFAULT|RULE:\[(?P<count>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<from>[^/]*)/(?P<to>[^/]*)/(?P<all>g)?)?)/?(?P<lower>L)?(?=\s|$)"
)
_PLACE: Final = re.compile(r"\$(\d*)")
_ODD_REPLACEMENT: Final = re.compile(r"[$\\]")
_ONLY_JAVAS: Final = re.compile(r"\\[pPQERGhHvVXxucNk]|\(\?|\[[^\]]*(?:\[|&&)")
_NOT_SIMPLE: Final = re.compile(r"[/@]")


class BadRuleError(ValueError):
    """A rule cannot be applied; the message names it and says why."""


class NoRuleError(ValueError):
    """No rule gives this principal a short name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    components: int = 0  # how many a principal must have; 0: DEFAULT, for the default realm
    pattern: str = ""  # the format of the base string, with `$0` for the realm
    match: "re.Pattern[str] | None" = None  # must match the whole base string; None: any
    found: "re.Pattern[str] | None" = None  # is replaced in the base string; None: nothing
    instead: str = ""  # the replacement
    is_global: bool = False  # replaces every occurrence
    is_lower: bool = False  # the short name is in lower case

    def short_name(self, parts: tuple[str, ...], default_realm: str) -> str | None:
        """Return the short name of a realm and components; None if this rule does not apply to them."""
        if self.components == 0:
            return parts[1] if parts[0] == default_realm else None
        made = self._made(parts) if len(parts) - 1 == self.components else None
        return made.lower() if made is not None and self.is_lower else made

    def _made(self, parts: tuple[str, ...]) -> str | None:
        base = _PLACE.sub(lambda place: parts[int(place[1])], self.pattern)
        if self.match is not None and self.match.fullmatch(base) is None:
            return None
        if self.found is None:
            return base
        return self.found.sub(lambda _: self.instead, base, count=0 if self.is_global else 1)


class AuthToLocal:
    """The rules of a cluster, in their order."""

    def __init__(self, rules: str, default_realm: str) -> None:
        """Parse the rules. Raises BadRuleError: one is invalid, or a NameNode would read it in another way."""
        self._default_realm = default_realm
        self._rules = parse_rules(rules)

    def short_name(self, principal: str) -> str:
        """Return the short name of `name@REALM` or `name/host@REALM`. Raises NoRuleError: no rule gives one."""
        name = _NAME.fullmatch(principal)
        if name is None:
            raise NoRuleError(f"{principal!r} is no principal with a realm and one or two components")
        parts = (name["realm"], *filter(None, (name["service"], name["host"])))
        for rule in self._rules:
            short = rule.short_name(parts, self._default_realm)
            if short is None:
                continue
            if not short or _NOT_SIMPLE.search(short):
                raise NoRuleError(
                    f"the rules of {RULES_KEY} make {short!r} of {principal}, which is no short name"
                )
            return short
        raise NoRuleError(f"no rule of {RULES_KEY} is for {principal}")


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Parse the value of `hadoop.security.auth_to_local`. Raises BadRuleError: as `AuthToLocal`."""
    rules, at = list[Rule](), 0
    text = text.strip()
    while at < len(text):
        found = _RULE.match(text, at)
        if found is None:
            raise BadRuleError(f"no rule: {text[at:].strip()!r}")
        rules.append(_rule(found))
        at = found.end()
    if not rules:
        raise BadRuleError("must have a rule, such as DEFAULT")
    return tuple(rules)


def _rule(found: "re.Match[str]") -> Rule:
    if found["count"] is None:
        return Rule()  # Hadoop ignores its `/L` too
    text, components = found[0].strip(), int(found["count"])
    places = [place[1] for place in _PLACE.finditer(found["format"])]
    if not 1 <= components <= 2:  # noqa: PLR2004 - as a principal has
        raise BadRuleError(f"{text}: is for {components} components; a principal has 1 or 2")
    if any(not place or int(place) > components for place in places):
        raise BadRuleError(
            f"{text}: $0 is the realm, $1 to ${components} are the components; there is no other"
        )
    instead = found["to"] or ""
    if _ODD_REPLACEMENT.search(instead):
        raise BadRuleError(f"{text}: groups of a replacement ({instead}) are not supported here")
    return Rule(
        components,
        found["format"],
        None if found["match"] is None else _pattern(text, found["match"]),
        None if found["from"] is None else _pattern(text, found["from"]),
        instead,
        found["all"] is not None,
        found["lower"] is not None,
    )


def _pattern(rule: str, text: str) -> "re.Pattern[str]":
    if _ONLY_JAVAS.search(text):
        raise BadRuleError(f"{rule}: {text} is an expression that only Java reads in this way")
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise BadRuleError(f"{rule}: {text}: {error}") from error
