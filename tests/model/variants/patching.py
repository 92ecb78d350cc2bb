"""Import the product with one broken module.

The file on disk is unchanged, and no compiled file is read or written, so no other process is affected. The
module stays broken for the rest of the process: each variant runs in its own.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

from tests.model.variants.variant import PACKAGE, Variant


class _BrokenLoader(SourceFileLoader):
    """Loads the broken module from its source."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant.dotted, str(PACKAGE / variant.module))
        self._variant = variant

    def get_code(self, fullname: str) -> CodeType:
        """Compile the broken source, ignoring compiled files."""
        return compile_broken(self._variant)


class _Finder(MetaPathFinder):
    """Finds the broken module before all other finders."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the broken module, None for any other."""
        if fullname != self._variant.dotted:
            return None
        return spec_from_file_location(
            fullname, PACKAGE / self._variant.module, loader=_BrokenLoader(self._variant)
        )


def compile_broken(variant: Variant) -> CodeType:
    """Return the code of the broken module.

    Raises:
        StaleVariantError: the source no longer has the text that the variant changes.
        SyntaxError: the broken source is not valid Python.
    """
    path = PACKAGE / variant.module
    source = variant.applied_to(path.read_text(encoding="utf-8"))
    return compile(source, str(path), "exec", dont_inherit=True)


def install(variant: Variant) -> None:
    """Make later imports load the broken module; the product must not be imported yet."""
    assert variant.dotted not in sys.modules, f"{variant.dotted} was imported whole already"
    compile_broken(variant)  # fail early on a stale variant
    sys.meta_path.insert(0, _Finder(variant))
