"""The definition of a container: which policies it may have, what each may say, and what a replacement may change.

`POLICIES` is the whole list; each row says how the policy is read, what stands there when a client sends nothing, and
what a replacement does: most policies are simply replaced, and one that is not sent is gone or the default again;
fixed ones stay, and it is refused to change them. The law: what is stored is what clients get back, complete and in one
form; nothing else that was sent is kept. Leaves out: the id.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from armillary.api.nosql.indexing import read_indexing
from armillary.api.nosql.indexpaths import parse_property
from armillary.api.nosql.search import (
    check_embeddings_kept,
    check_fulltexts,
    check_kept,
    check_vectors,
    read_embeddings,
    read_fulltext,
)
from armillary.api.nosql.shapes import Part
from armillary.errors import Kind, Refusal
from armillary.keys import SYSTEM_KEY, parse_path, read_definition

KEYLESS_VERSION: Final = "2018-06-18"
MOST_SECONDS: Final = (1 << 31) - 1
MOST_UNIQUE_KEYS: Final = 10
MOST_UNIQUE_PATHS: Final = 16
MOST_COMPUTED: Final = 20
ENCRYPTION: Final = "AEAD_AES_256_CBC_HMAC_SHA256"
_SYSTEM_NAMES: Final = ("id", "_rid", "_ts", "_self", "_etag", "_attachments")
_COMPUTED: Final = re.compile(r"\s*SELECT\s+VALUE\b.+\bFROM\s+\w", re.IGNORECASE | re.DOTALL)
_UNIQUE_REASON: Final = (
    "Unique key paths must lead through properties only, with valid characters and no trailing slash or wildcard"
)


class State(Enum):
    """Whether a policy does something yet."""

    IN_EFFECT = "in effect"
    STORED = "stored, not yet in effect"


class Policy(NamedTuple):
    """One policy: `read` takes what was sent to what is stored."""

    name: str
    state: State
    note: str
    read: Callable[[object], Any]
    always: bool = False
    fixed: bool = False


def define_container(body: Mapping[str, object], api_version: str) -> dict[str, Any]:
    """The definition of a new container: what was sent, checked, with every default."""
    body = {**body, "partitionKey": _find_key(body, api_version)}
    definition = {policy.name: policy.read(body.get(policy.name)) for policy in POLICIES if _stands(policy, body)}
    _check_whole(definition)
    return definition


def redefine_container(old: Mapping[str, Any], body: Mapping[str, object]) -> dict[str, Any]:
    """The definition that replaces another; what must stay and was not sent is taken from the old one."""
    kept = {policy.name: old[policy.name] for policy in POLICIES if policy.fixed and policy.name in old}
    body = {**body, **{name: value for name, value in kept.items() if body.get(name) is None}}
    if isinstance(body["partitionKey"], Mapping):
        # Clients that leave out the version or the kind mean the ones that are there.
        body["partitionKey"] = {**old["partitionKey"], **_drop_nulls(body["partitionKey"])}
    definition = {policy.name: policy.read(body.get(policy.name)) for policy in POLICIES if _stands(policy, body)}
    for policy in POLICIES:
        if policy.fixed and definition.get(policy.name) != old.get(policy.name):
            raise Refusal(
                Kind.BAD_DEFINITION, what=policy.name, reason="it cannot be changed once the container exists"
            )
    _check_whole(definition)
    check_kept(read_indexing(old["indexingPolicy"]).vectors, read_indexing(definition["indexingPolicy"]).vectors)
    check_embeddings_kept(_embeddings(old), _embeddings(definition))
    return definition


def _stands(policy: Policy, body: Mapping[str, object]) -> bool:
    """Whether a definition has this policy. Null is no policy, but for the default ttl, where it is a mistake."""
    return (
        policy.always or body.get(policy.name) is not None or (policy.read is read_default_ttl and policy.name in body)
    )


def _embeddings(definition: Mapping[str, Any]) -> Any:
    return read_embeddings(definition.get("vectorEmbeddingPolicy", {}))


def _check_whole(definition: Mapping[str, Any]) -> None:
    """What one policy says about another."""
    indexing = read_indexing(definition["indexingPolicy"])
    check_vectors(indexing.vectors, _embeddings(definition))
    check_fulltexts(indexing.fulltexts, definition.get("fullTextPolicy", {}))
    if definition["geospatialConfig"]["type"] == "Geometry":
        for index in indexing.spatials:
            if not index.box:
                reason = (
                    f"the spatial index on {index.path.text} needs a boundingBox, since shapes are of type Geometry"
                )
                raise Refusal(Kind.BAD_DEFINITION, what="indexing policy", reason=reason)
    encryption = definition.get("clientEncryptionPolicy")
    if encryption is not None and encryption["policyFormatVersion"] == 1:
        first = {"id"} | {path.names[0] for path in read_definition(definition["partitionKey"]).paths}
        for entry in encryption["includedPaths"]:
            if entry["path"].strip('/"') in first:
                reason = f"{entry['path']} is the id or in the partition key, which only format version 2 encrypts"
                raise Refusal(Kind.BAD_DEFINITION, what="client encryption policy", reason=reason)


# ---- partition key and unique keys


def _find_key(body: Mapping[str, object], api_version: str) -> object:
    sent = body.get("partitionKey")
    if sent is not None:
        return sent
    if not api_version or api_version > KEYLESS_VERSION:
        raise Refusal(
            Kind.BAD_DEFINITION,
            what="partition key definition",
            reason=f"it is missing; containers without one are made with x-ms-version {KEYLESS_VERSION} or older",
        )
    return SYSTEM_KEY.to_json()


def _read_key(value: object) -> dict[str, object]:
    return read_definition(_drop_nulls(value) if isinstance(value, Mapping) else value).to_json()


def _drop_nulls(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _read_unique_keys(value: object) -> dict[str, Any]:
    part = Part("unique key policy", "uniqueKeyPolicy", value)
    return {"uniqueKeys": [_read_unique_key(key) for key in part.at("uniqueKeys").some(MOST_UNIQUE_KEYS)]}


def _read_unique_key(part: Part) -> dict[str, Any]:
    entries = part.at("paths").some(MOST_UNIQUE_PATHS)
    if not entries:
        raise part.at("paths").wrong("a list of paths, one at least")
    paths = [parse_path(entry.text(), part.policy, _UNIQUE_REASON) for entry in entries]
    if len({path.names for path in paths}) < len(paths):
        raise part.refuse(f"a path stands in {part.place} twice")
    return {"paths": [path.text for path in paths]}


# ---- times


def read_default_ttl(value: object) -> int:
    """The default time to live: -1 for none, or seconds; it is switched off by leaving it out."""
    part = Part("default time to live", "defaultTtl", value)
    return -1 if value == -1 and isinstance(value, int) else part.whole(1, MOST_SECONDS)


def _read_analytical_ttl(value: object) -> int:
    return Part("analytical time to live", "analyticalStorageTtl", value).whole(-1, MOST_SECONDS)


def _read_change_feed(value: object) -> dict[str, Any]:
    part = Part("change feed policy", "changeFeedPolicy", value)
    return {"retentionDuration": part.at("retentionDuration").whole(0, MOST_SECONDS)}


# ---- the others


def _read_indexing(value: object) -> dict[str, Any]:
    return read_indexing(value).to_json()


def _read_conflicts(value: object) -> dict[str, Any]:
    part = Part("conflict resolution policy", "conflictResolutionPolicy", {} if value is None else value)
    mode = part.at("mode").choice("LastWriterWins", "Custom")
    path = part.at("conflictResolutionPath").text("")
    procedure = part.at("conflictResolutionProcedure").text("")
    if mode == "LastWriterWins":
        path = path or "/_ts"
        parse_property(Part(part.policy, "conflictResolutionPath", path))
        if procedure:
            raise part.refuse("the mode LastWriterWins takes a path and no procedure")
    elif path:
        raise part.refuse("the mode Custom takes a procedure and no path")
    return {"mode": mode, "conflictResolutionPath": path, "conflictResolutionProcedure": procedure}


def _read_geospatial(value: object) -> dict[str, Any]:
    part = Part("geospatial configuration", "geospatialConfig", {} if value is None else value)
    return {"type": part.at("type").choice("Geography", "Geometry")}


def _read_computed(value: object) -> list[dict[str, Any]]:
    part = Part("computed properties", "computedProperties", value)
    properties = [_read_computed_property(entry) for entry in part.some(MOST_COMPUTED)]
    if len({one["name"] for one in properties}) < len(properties):
        raise part.refuse("One of the specified inputs is invalid: two computed properties have the same name")
    return properties


def _read_computed_property(part: Part) -> dict[str, Any]:
    name, query = part.at("name").words(), part.at("query").words()
    if name in _SYSTEM_NAMES:
        raise part.at("name").wrong("no name of a system property")
    if not _COMPUTED.match(query):
        raise part.at("query").wrong("a query of the form SELECT VALUE ... FROM ...")
    return {"name": name, "query": query}


def _read_vectors(value: object) -> dict[str, Any]:
    return {"vectorEmbeddings": [embedding.to_json() for embedding in read_embeddings(value)]}


def _read_encryption(value: object) -> dict[str, Any]:
    part = Part("client encryption policy", "clientEncryptionPolicy", value)
    version = part.at("policyFormatVersion").whole(1, 2)
    return {
        "includedPaths": [_read_encrypted(entry) for entry in part.at("includedPaths").each()],
        "policyFormatVersion": version,
    }


def _read_encrypted(part: Part) -> dict[str, Any]:
    path = parse_property(part.at("path"))
    if len(path.names) > 1:
        raise part.at("path").wrong("the path of a property at the top")
    return {
        "path": path.text,
        "clientEncryptionKeyId": part.at("clientEncryptionKeyId").words(),
        "encryptionType": part.at("encryptionType").choice("Deterministic", "Randomized"),
        "encryptionAlgorithm": part.at("encryptionAlgorithm").choice(ENCRYPTION),
    }


def _read_view(value: object) -> dict[str, Any]:
    part = Part("materialized view definition", "materializedViewDefinition", value)
    return {
        "sourceCollectionId": part.at("sourceCollectionId").words(),
        "definition": part.at("definition").words(),
    }


POLICIES: Final = (
    Policy("indexingPolicy", State.STORED, "Queries scan; the index comes later.", _read_indexing, always=True),
    Policy("partitionKey", State.IN_EFFECT, "It never changes.", _read_key, always=True, fixed=True),
    Policy("uniqueKeyPolicy", State.IN_EFFECT, "It never changes.", _read_unique_keys, fixed=True),
    Policy("defaultTtl", State.IN_EFFECT, "-1 or seconds; absent switches expiry off.", read_default_ttl),
    Policy(
        "conflictResolutionPolicy",
        State.STORED,
        "With one region there are no conflicts. It never changes.",
        _read_conflicts,
        always=True,
        fixed=True,
    ),
    Policy("geospatialConfig", State.STORED, "It decides what spatial indexes need.", _read_geospatial, always=True),
    Policy("analyticalStorageTtl", State.STORED, "There is no analytical store.", _read_analytical_ttl),
    Policy("computedProperties", State.STORED, "Queries do not see them yet.", _read_computed),
    Policy("vectorEmbeddingPolicy", State.STORED, "What is in it never changes; more may be added.", _read_vectors),
    Policy("fullTextPolicy", State.STORED, "Full-text search comes later.", read_fulltext),
    Policy("changeFeedPolicy", State.STORED, "The retention of all versions and deletes.", _read_change_feed),
    Policy(
        "clientEncryptionPolicy",
        State.STORED,
        "Clients encrypt and decrypt; the policy only tells them what. It never changes.",
        _read_encryption,
        fixed=True,
    ),
    Policy(
        "materializedViewDefinition",
        State.STORED,
        "The container stays empty: nothing fills it. It never changes.",
        _read_view,
        fixed=True,
    ),
)
