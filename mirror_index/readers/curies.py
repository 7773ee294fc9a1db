"""IRIs -> short ids (CURIEs) such as ``HP:0000118``."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OBO = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z][\w.-]*)_([A-Za-z0-9.-]+)")
_NUMBERED = re.compile(r".*[/#]([A-Z][A-Za-z][A-Za-z0-9.]*)_([0-9][A-Za-z0-9.-]*)")
_LOCAL = re.compile(r"[^/#?:\s]+")


def curie(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return the short id of an IRI, the IRI itself where no rule makes one.

    1. OBO Foundry: ``http://purl.obolibrary.org/obo/HP_0000118`` -> ``HP:0000118``; the prefix ends
       at the last underscore.
    2. A last segment of a capitalised prefix, an underscore and a number, as EFO and ORDO have:
       ``http://www.orpha.net/ORDO/Orphanet_558`` -> ``Orphanet:558``.
    3. The longest namespace of `prefixes` that leaves a local name without ``/#?:``; the empty
       prefix is not used.

    Args:
        iri: an absolute IRI; anything else (a CURIE, a relative one) comes back as it is.
        prefixes: namespace IRIs by prefix, as the source declares them.
    """
    if "://" not in iri:
        return iri
    found = _OBO.fullmatch(iri) or _NUMBERED.fullmatch(iri)
    if found is not None:
        return f"{found[1]}:{found[2]}"
    fitting = [
        (len(namespace), prefix)
        for prefix, namespace in prefixes.items()
        if prefix and iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace))
    ]
    if not fitting:
        return iri
    length, prefix = max(fitting)
    return f"{prefix}:{iri[length:]}"


def local_name(iri: str) -> str:
    """Return what follows the last ``#`` or ``/`` of an IRI, or the colon of a CURIE."""
    return re.split(r"[#/]" if "://" in iri else r"[#/:]", iri)[-1]


def type_name(iri: str) -> str:
    """Return the word for a synonym type: ``layperson``, or ``OMO:0003012`` for one of the OBO."""
    found = _OBO.fullmatch(iri)
    return f"{found[1]}:{found[2]}" if found is not None else local_name(iri) or iri
