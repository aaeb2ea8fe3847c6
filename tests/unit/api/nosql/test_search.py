"""Vector and full-text policies and their indexes."""

from typing import Any

import pytest

from armillary.api.nosql.policies import define_container, redefine_container
from armillary.errors import Kind, Refusal

EMBEDDING = {"path": "/v", "dataType": "float32", "dimensions": 256, "distanceFunction": "euclidean"}
SOURCE = {
    "sourcePaths": ["/title", "/text"],
    "deploymentName": "small",
    "modelName": "small",
    "endpoint": "https://example.com",
    "authType": "ApiKey",
}
TEXTS = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/abstract", "language": "en-US"}]}


def define(**policies: Any) -> dict[str, Any]:
    return define_container({"partitionKey": {"paths": ["/pk"]}, **policies}, "2020-07-15")


def refused(**policies: Any) -> str:
    with pytest.raises(Refusal) as caught:
        define(**policies)
    assert caught.value.kind is Kind.BAD_DEFINITION
    return str(caught.value)


def embed(*embeddings: dict[str, Any]) -> dict[str, Any]:
    return {"vectorEmbeddings": list(embeddings)}


@pytest.mark.parametrize("data_type", ["float32", "float16", "int8", "uint8"])
@pytest.mark.parametrize("distance", ["cosine", "dotproduct", "euclidean"])
def test_embeddings(data_type: str, distance: str) -> None:
    policy = embed({**EMBEDDING, "dataType": data_type, "distanceFunction": distance})
    assert define(vectorEmbeddingPolicy=policy)["vectorEmbeddingPolicy"] == policy


def test_embeddings_may_have_a_source() -> None:
    policy = embed({**EMBEDDING, "embeddingSource": SOURCE})
    assert define(vectorEmbeddingPolicy=policy)["vectorEmbeddingPolicy"] == policy


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"dataType": "float33"}, "Vector Embedding Policy has an invalid DataType"),
        ({"dimensions": 8000}, "Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported"),
        ({"dimensions": 4097}, "more than the maximum supported value 4096"),
        ({"dimensions": -1}, "The Vector Embedding Policy has Dimensions:-1"),
        ({"dimensions": 0}, "The Vector Embedding Policy has Dimensions:0"),
        ({"dimensions": "256"}, "must be a whole number"),
        (
            {"distanceFunction": "handMeasured"},
            "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured",
        ),
        ({"path": "v"}, "could not be accepted"),
        (
            {"embeddingSource": {**SOURCE, "authType": "Guess"}},
            "The auth type provided in the embedding source of vector policy is invalid.",
        ),
        ({"embeddingSource": {**SOURCE, "sourcePaths": []}}, "sourcePaths"),
        ({"embeddingSource": {**SOURCE, "endpoint": None}}, "endpoint"),
        ({"embeddingSource": {**SOURCE, "deploymentName": ""}}, "deploymentName"),
    ],
)
def test_bad_embeddings(change: dict[str, Any], fragment: str) -> None:
    assert fragment in refused(vectorEmbeddingPolicy=embed({**EMBEDDING, **change}))


def test_a_path_is_embedded_once() -> None:
    assert "twice" in refused(vectorEmbeddingPolicy=embed(EMBEDDING, EMBEDDING))


@pytest.mark.parametrize(
    "index",
    [
        {"type": "flat"},
        {"type": "quantizedFlat", "quantizerType": "product", "quantizationByteSize": 8},
        {"type": "quantizedFlat", "quantizationByteSize": 256},
        {
            "type": "diskANN",
            "quantizerType": "spherical",
            "indexingSearchListSize": 25,
            "vectorIndexShardKey": ["/country/city"],
        },
        {"type": "diskANN", "indexingSearchListSize": 500, "vectorIndexShardKey": []},
    ],
)
def test_vector_indexes(index: dict[str, Any]) -> None:
    index = {"path": "/v", **index}
    stored = define(vectorEmbeddingPolicy=embed(EMBEDDING), indexingPolicy={"vectorIndexes": [index]})
    assert stored["indexingPolicy"]["vectorIndexes"] == [index]
    assert redefine_container(stored, stored) == stored


@pytest.mark.parametrize(
    ("index", "fragment"),
    [
        ({"type": "notFlat"}, "Index Type::notFlat is invalid"),
        ({"path": "/w", "type": "flat"}, "w not matching in Embedding's path"),
        (
            {"type": "quantizedFlat", "quantizationByteSize": 0},
            "The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. "
            "The allowed range is between 1 and",
        ),
        (
            {"type": "quantizedFlat", "quantizationByteSize": 257},
            "QuantizationByteSize value :: 257 is out of range. The allowed range is between 1 and 256.",
        ),
        (
            {"type": "diskANN", "indexingSearchListSize": 5},
            "IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500.",
        ),
        (
            {"type": "diskANN", "vectorIndexShardKey": ["country"]},
            "The Vector Indexing Policy has an invalid Shard Path: country.",
        ),
        (
            {"type": "diskANN", "vectorIndexShardKey": ["/country", "/city", "/zipcode"]},
            "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1.",
        ),
        ({"type": "diskANN", "vectorIndexShardKey": "/country"}, "One of the specified inputs is invalid"),
        ({"type": "diskANN", "quantizerType": "guess"}, "product, spherical"),
    ],
)
def test_bad_vector_indexes(index: dict[str, Any], fragment: str) -> None:
    policy = {"vectorIndexes": [{"path": "/v", **index}]}
    assert fragment in refused(vectorEmbeddingPolicy=embed(EMBEDDING), indexingPolicy=policy)


def test_a_vector_index_needs_a_policy() -> None:
    policy = {"vectorIndexes": [{"path": "/v", "type": "flat"}]}
    assert "The Vector Indexing Policy's path::/v not matching in Embedding's path." in refused(indexingPolicy=policy)


@pytest.mark.parametrize(
    ("index", "accepted"),
    [
        ({"type": "flat"}, False),
        ({"type": "diskANN"}, True),
        ({"type": "quantizedFlat", "quantizationByteSize": 512}, True),
        ({"type": "quantizedFlat", "quantizationByteSize": 513}, False),
    ],
)
def test_many_dimensions(index: dict[str, Any], accepted: bool) -> None:
    policies: dict[str, Any] = {
        "vectorEmbeddingPolicy": embed({**EMBEDDING, "dimensions": 550}),
        "indexingPolicy": {"vectorIndexes": [{"path": "/v", **index}]},
    }
    if accepted:
        assert define(**policies)
    else:
        assert refused(**policies)


def test_flat_indexes_take_505_dimensions() -> None:
    flat = {"vectorIndexes": [{"path": "/v", "type": "flat"}]}
    assert define(vectorEmbeddingPolicy=embed({**EMBEDDING, "dimensions": 505}), indexingPolicy=flat)
    assert "505" in refused(vectorEmbeddingPolicy=embed({**EMBEDDING, "dimensions": 506}), indexingPolicy=flat)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (TEXTS, TEXTS),
        ({"defaultLanguage": "en-US"}, {"defaultLanguage": "en-US"}),
        ({"fullTextPaths": [{"path": "/a"}]}, {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/a"}]}),
        ({"defaultLanguage": "pt-BR", "fullTextPaths": []}, {"defaultLanguage": "pt-BR", "fullTextPaths": []}),
    ],
)
def test_full_text_policies(sent: object, stored: object) -> None:
    assert define(fullTextPolicy=sent)["fullTextPolicy"] == stored


@pytest.mark.parametrize(
    ("policy", "fragment"),
    [
        ({"defaultLanguage": "spa-SPA"}, "The Full Text Policy contains an unsupported language: spa-SPA"),
        ({"fullTextPaths": [{"path": "/a", "language": "spa-SPA"}]}, "unsupported language: spa-SPA"),
        ({"fullTextPaths": [{"path": "abstract"}]}, "The Full Text Policy contains an invalid Path: abstract"),
        ({"fullTextPaths": [{"language": "en-US"}]}, "must be a text"),
        ({"fullTextPaths": "/a"}, "must be a list"),
    ],
)
def test_bad_full_text_policies(policy: object, fragment: str) -> None:
    assert fragment in refused(fullTextPolicy=policy)


def test_full_text_indexes() -> None:
    policy = {"fullTextIndexes": [{"path": "/abstract"}]}
    stored = define(fullTextPolicy=TEXTS, indexingPolicy=policy)
    assert stored["indexingPolicy"]["fullTextIndexes"] == [{"path": "/abstract"}]


@pytest.mark.parametrize("index", [{"path": "/path"}, {"path": "abstract"}, {"not_path": "abstract"}, "/abstract"])
def test_bad_full_text_indexes(index: object) -> None:
    assert refused(fullTextPolicy=TEXTS, indexingPolicy={"fullTextIndexes": [index]})


def test_full_text_may_change() -> None:
    old = define(fullTextPolicy=TEXTS, indexingPolicy={"fullTextIndexes": [{"path": "/abstract"}]})
    texts = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/new"}]}
    changed = redefine_container(
        old, {"fullTextPolicy": texts, "indexingPolicy": {"fullTextIndexes": [{"path": "/new"}]}}
    )
    assert changed["fullTextPolicy"] == texts
    assert changed["indexingPolicy"]["fullTextIndexes"] == [{"path": "/new"}]
