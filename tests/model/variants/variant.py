"""Broken variants of the product: what one is, and all of them.

Imports nothing of the product: a variant must be in force before the product is imported.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.model.guarantee import Guarantee

PACKAGE = Path(__file__).resolve().parents[3] / "nncache"
"""The product."""

TWO_NAMESPACES: Final = "two namespaces"


class StaleVariantError(Exception):
    """The source is no longer what the variant breaks: read its rule again, and find where it is kept now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One rule of the design, and one line by which the product keeps it no longer.

    Attributes:
        name: short, for people and command lines.
        guarantee: what is no longer kept; the check of this one must notice.
        rule: what the product does, in a sentence.
        module: the file, from the package's root.
        old: text that stands once in it; lines around the one that changes may make it so.
        new: what stands there instead.
        where: it can be seen there only: on the channel of this name, or with TWO_NAMESPACES; "": everywhere.
    """

    name: str
    guarantee: Guarantee
    rule: str
    module: str
    old: str
    new: str
    where: str = ""

    @property
    def dotted(self) -> str:
        """The module's name as it is imported."""
        return "nncache." + self.module.removesuffix(".py").replace("/", ".")

    def applied_to(self, source: str) -> str:
        """Return the source with the rule broken.

        Raises:
            StaleVariantError: what it breaks is not there exactly once, or nothing would change.
        """
        found = source.count(self.old)
        if found != 1 or self.old == self.new:
            raise StaleVariantError(f"{self.name}: its text stands {found} times in {self.module}")
        return source.replace(self.old, self.new)

    def lines_changed(self) -> int:
        """Return how many lines of the source it replaces."""
        old, new = self.old.splitlines(), self.new.splitlines()
        while old and new and old[0] == new[0]:
            del old[0], new[0]
        while old and new and old[-1] == new[-1]:
            del old[-1], new[-1]
        return max(len(old), 1)


def read_variants(*files: Path) -> Mapping[str, Variant]:
    """Return the variants of these files, by name.

    Blocks of lines are separated by an empty line. The lines of a variant: "NAME: GUARANTEE, MODULE" or
    "NAME: GUARANTEE, MODULE, WHERE"; its rule; each line of the old text behind "- ", and of the new one behind "+ ".
    A block that begins with "#" is a comment.
    """
    variants = [each for file in files for each in _read(file)]
    by_name = {variant.name: variant for variant in variants}
    assert len(by_name) == len(variants), "two variants of one name"
    return by_name


def _read(file: Path) -> Iterator[Variant]:
    for block in file.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        if block.startswith("#"):
            continue
        head, rule, *lines = block.split("\n")
        name, _, about = head.partition(": ")
        guarantee, module, *where = about.split(", ")
        yield Variant(
            name=name,
            guarantee=Guarantee(guarantee),
            rule=rule.strip(),
            module=module,
            old="\n".join(line[2:] for line in lines if line.startswith("-")),
            new="\n".join(line[2:] for line in lines if line.startswith("+")),
            where="".join(where),
        )


VARIANTS: Final = read_variants(*sorted(Path(__file__).parent.glob("*_rules.txt")))
"""One for each rule of the design that a model of the whole can see broken."""
