"""All broken variants, by name."""

from typing import Final

from tests.model.variants.cache_rules import CACHE_RULES
from tests.model.variants.credential_rules import CREDENTIAL_RULES
from tests.model.variants.federation_rules import FEDERATION_RULES
from tests.model.variants.proxy_rules import PROXY_RULES
from tests.model.variants.stream_rules import STREAM_RULES
from tests.model.variants.termination_rules import TERMINATION_RULES
from tests.model.variants.window_rules import WINDOW_RULES
from tests.model.variants.zookeeper_rules import ZOOKEEPER_RULES

_ALL: Final = (
    CACHE_RULES,
    WINDOW_RULES,
    PROXY_RULES,
    CREDENTIAL_RULES,
    TERMINATION_RULES,
    STREAM_RULES,
    ZOOKEEPER_RULES,
    FEDERATION_RULES,
)

VARIANTS: Final = {variant.name: variant for rules in _ALL for variant in rules}
"""One for each rule of the design that a model of the whole can see broken."""

assert len(VARIANTS) == sum(map(len, _ALL)), "two variants of one name"
