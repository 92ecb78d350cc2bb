"""Broken variants of the product: their form, and the table of all.

This file imports nothing of the product: a variant must be installed before the product is imported.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.model.guarantee import Guarantee

PACKAGE = Path(__file__).resolve().parents[3] / "nncache"
"""The folder of the product."""

TWO_NAMESPACES: Final = "two namespaces"


class StaleVariantError(Exception):
    """The source no longer has the text that the variant changes: find the code that keeps its rule now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One rule of the design, and a change of one line that violates it.

    Attributes:
        name: short, for people and command lines.
        guarantee: the guarantee that it violates, whose check must find it.
        rule: what the product does, in a sentence.
        module: the file, relative to the package's root.
        old: text that occurs once in it; neighbouring lines may make it unique.
        new: its replacement.
        where: the only place where it shows: the channel of this name, or TWO_NAMESPACES; "": everywhere.
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
        """The module's import name."""
        return "nncache." + self.module.removesuffix(".py").replace("/", ".")

    def applied_to(self, source: str) -> str:
        """Return the source with the rule broken.

        Raises:
            StaleVariantError: the old text does not occur exactly once, or nothing would change.
        """
        found = source.count(self.old)
        if found != 1 or self.old == self.new:
            raise StaleVariantError(f"{self.name}: its text stands {found} times in {self.module}")
        return source.replace(self.old, self.new)

    def lines_changed(self) -> int:
        """Return the number of source lines that it replaces."""
        old, new = self.old.splitlines(), self.new.splitlines()
        while old and new and old[0] == new[0]:
            del old[0], new[0]
        while old and new and old[-1] == new[-1]:
            del old[-1], new[-1]
        return max(len(old), 1)


def read_variants(*files: Path) -> Mapping[str, Variant]:
    """Return the variants of these files, by name.

    An empty line separates blocks. The lines of a variant: "NAME: GUARANTEE, MODULE" or
    "NAME: GUARANTEE, MODULE, WHERE"; its rule; each line of the old text after "- ", and of the new text after "+ ".
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
"""The variants of all rules whose violation a model of the whole system can show."""
