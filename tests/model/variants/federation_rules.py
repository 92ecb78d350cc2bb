"""Rules of several namespaces behind one proxy."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_FEDERATED = "proxy/federated.py"
_ROUTING = "proxy/routing.py"
_MOUNTS = "hadoop/mounts.py"

FEDERATION_RULES: Final = (
    Variant(
        name="shorter-mount-point-wins",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="The longest mount point says which namespace holds a path.",
        module=_MOUNTS,
        old="            if namespace is not None:\n                return namespace\n",
        new="            if namespace is not None:\n                return self.fallback or namespace\n",
        is_federated=True,
    ),
    Variant(
        name="mount-point-within-a-name",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="A mount point holds what is below it, not all whose names begin like its own.",
        module=_MOUNTS,
        old="                return self.fallback if namespace is None else namespace\n",
        new="                return self.points.get(max(filter(path.startswith, self.points), default=''))\n",
        is_federated=True,
    ),
    Variant(
        name="unmounted-path-answered",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="What is mounted nowhere is of no namespace.",
        module=_ROUTING,
        old="    namespace = mounts.find(path)\n    if namespace is not None:\n",
        new="    namespace = mounts.find(path) or next(iter(mounts.points.values()))\n    if namespace is not None:\n",
        is_federated=True,
    ),
    Variant(
        name="head-routed-as-it-is-spelled",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="A known head is of the namespace of its canonical path.",
        module=_ROUTING,
        old='path = canonical(decode_target_path(spelled.decode("ascii", "surrogateescape")))',
        new='path = decode_target_path(spelled.decode("ascii", "surrogateescape"))',
        is_federated=True,
    ),
    Variant(
        name="heads-of-the-last-namespace",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="A known head is answered from the table of its own namespace.",
        module=_FEDERATED,
        old="known = self._last = self._known[namespace]",
        new="known = self._last",
        is_federated=True,
    ),
    Variant(
        name="hit-shown-to-the-first-namespace",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="A hit is shown to the observers of the namespace that has answered.",
        module=_FEDERATED,
        old="known = self._last = self._known[namespace]",
        new="known = self._known[namespace]",
        is_federated=True,
    ),
    Variant(
        name="plain-call-by-another-way",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="A plain call goes to the NameNodes of its own namespace.",
        module=_FEDERATED,
        old="return None if namespace is None else self._plain.get(namespace)",
        new="return None if namespace is None else next(iter(self._plain.values()))",
        is_federated=True,
    ),
    Variant(
        name="rename-across-passed-on",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="A rename between namespaces is refused.",
        module=_ROUTING,
        old="        if holder != namespace:\n",
        new="        if holder is None:\n",
        is_federated=True,
    ),
    Variant(
        name="sources-overlooked",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="The sources of a CONCAT are paths of its namespace, too.",
        module=_ROUTING,
        old='for value in call.arguments.get("sources", ())',
        new='for value in call.arguments.get("sources", ())[:0]',
        is_federated=True,
    ),
    Variant(
        name="mount-point-deleted",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="Mount points and what is above them are neither deleted nor renamed.",
        module=_ROUTING,
        old="_TAKES_AWAY: Final = frozenset({Effect.VANISHES, Effect.MOVES})",
        new="_TAKES_AWAY: Final = frozenset({Effect.MOVES})",
        is_federated=True,
    ),
    Variant(
        name="one-gate-for-all",
        guarantee=Guarantee.OWN_NAMESPACE,
        rule="Each namespace has its own gate; here the whole event loop has one.",
        module="cache/metadata_cache.py",
        old="self.gate = FreshnessGate(settings.max_staleness_s)",
        new='self.gate = vars(__import__("asyncio").get_running_loop()).setdefault('
        '"gate", FreshnessGate(settings.max_staleness_s))',
        is_federated=True,
    ),
)
