"""Definitions of containers: what is accepted and how it comes back, what is refused and in which words."""

from typing import Any

import pytest

from armillary.api.nosql.policies import POLICIES, State, define_container, redefine_container
from armillary.errors import Kind, Refusal

KEY: dict[str, Any] = {"paths": ["/pk"], "kind": "Hash", "version": 2}
DEFAULT_INDEXING = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
}
VECTOR = {"path": "/v", "dataType": "float32", "dimensions": 256, "distanceFunction": "cosine"}
KEY_ID = {"clientEncryptionKeyId": "k", "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256"}


def define(**policies: Any) -> dict[str, Any]:
    return define_container({"id": "c", "partitionKey": KEY, **policies}, "2020-07-15")


def refused(**policies: Any) -> str:
    with pytest.raises(Refusal) as caught:
        define(**policies)
    assert caught.value.kind is Kind.BAD_DEFINITION
    return str(caught.value)


def test_the_service_adds_its_defaults() -> None:
    assert define() == {
        "indexingPolicy": DEFAULT_INDEXING,
        "partitionKey": KEY,
        "conflictResolutionPolicy": {
            "mode": "LastWriterWins",
            "conflictResolutionPath": "/_ts",
            "conflictResolutionProcedure": "",
        },
        "geospatialConfig": {"type": "Geography"},
    }


def test_system_properties_and_strange_ones_are_dropped() -> None:
    assert define(_rid="x", _self="y", _etag="z", colour="red", indexingPolicy={"colour": "red"}) == define()


def test_null_is_no_policy() -> None:
    assert define(uniqueKeyPolicy=None, computedProperties=None, indexingPolicy=None) == define()


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"paths": ["/pk"]}, {"paths": ["/pk"], "kind": "Hash", "version": 1}),
        ({"paths": ["/a/b"], "kind": "Hash", "version": None}, {"paths": ["/a/b"], "kind": "Hash", "version": 1}),
        ({"paths": ["/a", "/b"], "kind": "MultiHash"}, {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}),
        (
            {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True},
            {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True},
        ),
    ],
)
def test_partition_keys(sent: object, stored: object) -> None:
    assert define(partitionKey=sent)["partitionKey"] == stored


@pytest.mark.parametrize("version", ["2018-06-18", "2017-02-22", "2015-08-06"])
def test_old_clients_may_leave_the_key_out(version: str) -> None:
    key = define_container({"id": "c"}, version)["partitionKey"]
    assert key == {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}


@pytest.mark.parametrize("version", ["2018-06-19", "2018-12-31", "2020-07-15", ""])
def test_others_may_not(version: str) -> None:
    with pytest.raises(Refusal) as caught:
        define_container({"id": "c"}, version)
    assert caught.value.kind is Kind.BAD_DEFINITION


@pytest.mark.parametrize(
    ("key", "fragment"),
    [
        ({"paths": ["/a", "/b"], "kind": "Hash"}, "Too many partition key paths"),
        ({"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash"}, "Too many partition key paths"),
        ({"paths": ["/a/"]}, "must contain only valid characters and not contain a trailing slash or wildcard"),
        ({"paths": ["/a/*"]}, "must contain only valid characters and not contain a trailing slash or wildcard"),
        ({"paths": []}, "paths"),
        ({"kind": "Hash"}, "paths"),
        ([], "object"),
        ("/pk", "object"),
    ],
)
def test_bad_partition_keys(key: object, fragment: str) -> None:
    assert fragment in refused(partitionKey=key)


# ---- times


@pytest.mark.parametrize("ttl", [-1, 1, 3600, 2147483647])
def test_default_ttl(ttl: int) -> None:
    assert define(defaultTtl=ttl)["defaultTtl"] == ttl


@pytest.mark.parametrize("ttl", [0, -2, -10, None, "10", 10.0, -1.0, True, 2147483648, {}, []])
def test_bad_default_ttl(ttl: object) -> None:
    assert "defaultTtl" in refused(defaultTtl=ttl)


@pytest.mark.parametrize("ttl", [-1, 0, 86400])
def test_analytical_ttl(ttl: int) -> None:
    assert define(analyticalStorageTtl=ttl)["analyticalStorageTtl"] == ttl


def test_bad_analytical_ttl() -> None:
    assert "analyticalStorageTtl" in refused(analyticalStorageTtl=-2)


def test_change_feed_policy() -> None:
    assert define(changeFeedPolicy={"retentionDuration": 10})["changeFeedPolicy"] == {"retentionDuration": 10}


@pytest.mark.parametrize("policy", [{}, [], 10, {"retentionDuration": -1}, {"retentionDuration": "10"}])
def test_bad_change_feed_policy(policy: object) -> None:
    assert "changeFeedPolicy" in refused(changeFeedPolicy=policy)


# ---- unique keys


@pytest.mark.parametrize(
    "policy",
    [
        {"uniqueKeys": []},
        {"uniqueKeys": [{"paths": ["/a"]}]},
        {"uniqueKeys": [{"paths": ["/a/b", '/"c-d"']}, {"paths": ["/a"]}]},
        {"uniqueKeys": [{"paths": [f"/p{n}" for n in range(16)]}] * 10},
    ],
)
def test_unique_keys(policy: object) -> None:
    assert define(uniqueKeyPolicy=policy)["uniqueKeyPolicy"] == policy


@pytest.mark.parametrize(
    ("policy", "fragment"),
    [
        ({"uniqueKeys": [{"paths": ["/a"]}] * 11}, "11 members, the limit is 10"),
        ({"uniqueKeys": [{"paths": [f"/p{n}" for n in range(17)]}]}, "17 members, the limit is 16"),
        ({"uniqueKeys": [{"paths": []}]}, "One of the specified inputs is invalid"),
        ({"uniqueKeys": [{}]}, "One of the specified inputs is invalid"),
        ({"uniqueKeys": [{"paths": ["a"]}]}, "Unique key paths"),
        ({"uniqueKeys": [{"paths": ["/a/*"]}]}, "Unique key paths"),
        ({"uniqueKeys": [{"paths": ["/a/[]/b"]}]}, "Unique key paths"),
        ({"uniqueKeys": [{"paths": ["/a", '/"a"']}]}, "twice"),
        ({"uniqueKeys": [{"paths": "/a"}]}, "must be a list"),
        ({"uniqueKeys": [{"paths": [5]}]}, "must be a text"),
        ([], "must be an object"),
    ],
)
def test_bad_unique_keys(policy: object, fragment: str) -> None:
    assert fragment in refused(uniqueKeyPolicy=policy)


# ---- the others


@pytest.mark.parametrize(
    ("sent", "path", "procedure"),
    [
        ({"mode": "LastWriterWins"}, "/_ts", ""),
        ({"mode": "lastWriterWins", "conflictResolutionPath": "/a/b"}, "/a/b", ""),
        ({"conflictResolutionPath": ""}, "/_ts", ""),
        ({"mode": "Custom"}, "", ""),
        ({"mode": "Custom", "conflictResolutionProcedure": "dbs/d/colls/c/sprocs/s"}, "", "dbs/d/colls/c/sprocs/s"),
    ],
)
def test_conflict_policy(sent: dict[str, Any], path: str, procedure: str) -> None:
    stored = define(conflictResolutionPolicy=sent)["conflictResolutionPolicy"]
    assert (stored["conflictResolutionPath"], stored["conflictResolutionProcedure"]) == (path, procedure)
    assert stored["mode"] == ("Custom" if sent.get("mode") == "Custom" else "LastWriterWins")


@pytest.mark.parametrize(
    "policy",
    [
        {"mode": "FirstWriterWins"},
        {"conflictResolutionPath": "a"},
        {"mode": "Custom", "conflictResolutionPath": "/a"},
        {"conflictResolutionProcedure": "dbs/d/colls/c/sprocs/s"},
        {"mode": 5},
        "Custom",
    ],
)
def test_bad_conflict_policy(policy: object) -> None:
    assert refused(conflictResolutionPolicy=policy)


@pytest.mark.parametrize(
    ("sent", "stored"), [({}, "Geography"), ({"type": "Geometry"}, "Geometry"), ({"type": "geography"}, "Geography")]
)
def test_geospatial(sent: object, stored: str) -> None:
    assert define(geospatialConfig=sent)["geospatialConfig"] == {"type": stored}


def test_bad_geospatial() -> None:
    assert "Geography, Geometry" in refused(geospatialConfig={"type": "Globe"})


def test_planes_need_the_corners_of_a_spatial_index() -> None:
    spatial: dict[str, Any] = {"path": "/place/*", "types": ["Point"]}
    plane = {"type": "Geometry"}
    assert "boundingBox" in refused(geospatialConfig=plane, indexingPolicy={"spatialIndexes": [spatial]})
    spatial["boundingBox"] = {"xmin": 0, "ymin": 0, "xmax": 10, "ymax": 10.5}
    stored = define(geospatialConfig=plane, indexingPolicy={"spatialIndexes": [spatial]})
    assert stored["indexingPolicy"]["spatialIndexes"] == [spatial]


def test_computed_properties() -> None:
    properties = [
        {"name": "cp_lower", "query": "SELECT VALUE LOWER(c.db_group) FROM c"},
        {"name": "cp_power", "query": "select value POWER(c.val, 2)\nfrom root c"},
    ]
    assert define(computedProperties=properties)["computedProperties"] == properties


@pytest.mark.parametrize(
    "properties",
    [
        {"name": "cp", "query": "SELECT VALUE c.a FROM c"},
        ["cp"],
        [{"name": "cp"}],
        [{"query": "SELECT VALUE c.a FROM c"}],
        [{"name": "", "query": "SELECT VALUE c.a FROM c"}],
        [{"name": "_ts", "query": "SELECT VALUE c.a FROM c"}],
        [{"name": "cp", "query": "SELECT c.a FROM c"}],
        [{"name": "cp", "query": "SELECT VALUE 1"}],
        [{"name": "cp", "query": "SELECT VALUE c.a FROM c"}] * 2,
    ],
)
def test_bad_computed_properties(properties: object) -> None:
    assert "One of the specified inputs is invalid" in refused(computedProperties=properties)


def test_too_many_computed_properties() -> None:
    properties = [{"name": f"cp{n}", "query": "SELECT VALUE c.a FROM c"} for n in range(21)]
    assert len(define(computedProperties=properties[:20])["computedProperties"]) == 20
    assert "limit is 20" in refused(computedProperties=properties)


def test_encryption_policy() -> None:
    policy = {
        "includedPaths": [{"path": "/secret", "encryptionType": "Randomized", **KEY_ID}],
        "policyFormatVersion": 1,
    }
    assert define(clientEncryptionPolicy=policy)["clientEncryptionPolicy"] == policy


@pytest.mark.parametrize(
    ("path", "version", "accepted"),
    [
        ("/a", 1, True),
        ("/a/b", 1, False),
        ("a", 1, False),
        ("/id", 1, False),
        ("/pk", 1, False),
        ('/"pk"', 1, False),
        ("/pk", 2, True),
        ("/a", 3, False),
        ("/a", None, False),
    ],
)
def test_encrypted_paths(path: str, version: object, accepted: bool) -> None:
    entry = {"path": path, "encryptionType": "Deterministic", **KEY_ID}
    policy = {"includedPaths": [entry], "policyFormatVersion": version}
    if accepted:
        assert define(clientEncryptionPolicy=policy)["clientEncryptionPolicy"] == policy
    else:
        assert refused(clientEncryptionPolicy=policy)


def test_materialized_view() -> None:
    view = {"sourceCollectionId": "source", "definition": "SELECT c.id FROM c"}
    assert define(materializedViewDefinition=view)["materializedViewDefinition"] == view
    assert "definition" in refused(materializedViewDefinition={"sourceCollectionId": "source"})


# ---- replacing


def replace_refused(old: dict[str, Any], **policies: Any) -> str:
    with pytest.raises(Refusal) as caught:
        redefine_container(old, {"id": "c", **policies})
    assert caught.value.kind is Kind.BAD_DEFINITION
    return str(caught.value)


def test_what_is_not_sent_is_gone_or_the_default_again() -> None:
    old = define(
        indexingPolicy={"indexingMode": "none"},
        defaultTtl=10,
        computedProperties=[{"name": "cp", "query": "SELECT VALUE c.a FROM c"}],
        fullTextPolicy={"defaultLanguage": "en-US"},
        changeFeedPolicy={"retentionDuration": 10},
    )
    assert redefine_container(old, {"id": "c", "partitionKey": KEY}) == define()


def test_what_is_fixed_stays_without_being_sent() -> None:
    fixed: dict[str, Any] = {
        "partitionKey": {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]},
        "conflictResolutionPolicy": {"mode": "Custom"},
        "clientEncryptionPolicy": {"includedPaths": [], "policyFormatVersion": 1},
        "materializedViewDefinition": {"sourceCollectionId": "s", "definition": "SELECT c.id FROM c"},
    }
    old = define(**fixed)
    assert redefine_container(old, {"id": "c"}) == old
    assert redefine_container(old, {"id": "c", **fixed}) == old


def test_a_definition_replaces_itself() -> None:
    old = define(
        indexingPolicy={"includedPaths": [{"path": "/a/?"}], "excludedPaths": [{"path": "/*"}]},
        vectorEmbeddingPolicy={"vectorEmbeddings": [VECTOR]},
        defaultTtl=-1,
    )
    assert redefine_container(old, {"id": "c", **old}) == old


@pytest.mark.parametrize("key", [{"paths": ["/pk"]}, {"paths": ["/pk"], "kind": "Hash", "version": None}])
def test_a_key_without_its_version_is_the_same_key(key: object) -> None:
    assert redefine_container(define(), {"id": "c", "partitionKey": key}) == define()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partitionKey", {"paths": ["/other"], "kind": "Hash", "version": 2}),
        ("partitionKey", {"paths": ["/pk"], "kind": "Hash", "version": 1}),
        ("uniqueKeyPolicy", {"uniqueKeys": [{"paths": ["/u"]}]}),
        ("conflictResolutionPolicy", {"mode": "Custom"}),
        ("clientEncryptionPolicy", {"includedPaths": [], "policyFormatVersion": 1}),
        ("materializedViewDefinition", {"sourceCollectionId": "s", "definition": "SELECT c.id FROM c"}),
    ],
)
def test_what_is_fixed_cannot_be_changed(name: str, value: object) -> None:
    assert "cannot be changed" in replace_refused(define(), **{name: value})


@pytest.mark.parametrize("ttl", [0, None, "10"])
def test_a_replacement_is_checked_like_a_definition(ttl: object) -> None:
    assert "defaultTtl" in replace_refused(define(), defaultTtl=ttl)


def test_vectors_cannot_be_changed_only_added() -> None:
    embeddings = {"vectorEmbeddings": [VECTOR]}
    flat = {"vectorIndexes": [{"path": "/v", "type": "flat"}]}
    old = define(vectorEmbeddingPolicy=embeddings, indexingPolicy=flat)
    other_index = {"vectorIndexes": [{"path": "/v", "type": "quantizedFlat"}]}
    other_size = {"vectorEmbeddings": [{**VECTOR, "dimensions": 384}]}
    more = {"vectorEmbeddings": [VECTOR, {**VECTOR, "path": "/w"}]}

    assert "The Vector Indexing Policy's path::/v not matching in Embedding's path." in replace_refused(
        old, indexingPolicy=flat
    )
    assert "Paths in existing vector indexing policy cannot be modified in Collection Replace" in replace_refused(
        old, vectorEmbeddingPolicy=embeddings, indexingPolicy=other_index
    )
    assert "Paths in existing embedding policy cannot be modified in Collection Replace" in replace_refused(
        old, vectorEmbeddingPolicy=other_size, indexingPolicy=flat
    )
    assert "Paths in existing embedding policy" in replace_refused(define(vectorEmbeddingPolicy=embeddings))
    changed = redefine_container(old, {"vectorEmbeddingPolicy": more, "indexingPolicy": flat})
    assert changed["vectorEmbeddingPolicy"] == more


def test_only_what_works_is_said_to_be_in_effect() -> None:
    working = {policy.name for policy in POLICIES if policy.state is State.IN_EFFECT}
    assert working == {"partitionKey", "uniqueKeyPolicy", "defaultTtl"}
