"""Vectors and full text: the policies that say what a property holds, and the indexes that refer to them.

The laws: an index names a path of its policy; what exists of a vector policy or a vector index is never changed, more
may be added. Full-text policies may change. Leaves out: the search itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from armillary.api.nosql.indexpaths import find_property, parse_property
from armillary.api.nosql.shapes import Part
from armillary.keys import KeyPath

MOST_DIMENSIONS: Final = 4096
MOST_FLAT_DIMENSIONS: Final = 505
MOST_QUANTIZED_BYTES: Final = 512
SEARCH_LIST_SIZES: Final = (25, 500)
MOST_SHARD_PATHS: Final = 1
DATA_TYPES: Final = ("float32", "float16", "int8", "uint8")
DISTANCES: Final = ("cosine", "dotproduct", "euclidean")
VECTOR_TYPES: Final = ("flat", "quantizedFlat", "diskANN")
QUANTIZERS: Final = ("product", "spherical")
LANGUAGES: Final = ("en-US", "fr-FR", "de-DE", "it-IT", "pt-BR", "pt-PT", "es-ES")
AUTHORIZATIONS: Final = ("ApiKey", "Entra")


@dataclass(frozen=True, slots=True)
class Embedding:
    """What the vectors at a path are; `source` says, for the service, what they are made from."""

    path: KeyPath
    data_type: str
    dimensions: int
    distance: str
    source: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        text = {
            "path": self.path.text,
            "dataType": self.data_type,
            "dimensions": self.dimensions,
            "distanceFunction": self.distance,
        }
        return text if self.source is None else text | {"embeddingSource": dict(self.source)}


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index over vectors; what a client did not choose is None."""

    path: KeyPath
    type: str
    quantizer: str | None = None
    quantized_bytes: int | None = None
    search_list_size: int | None = None
    shard_key: tuple[KeyPath, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        fields = {
            "path": self.path.text,
            "type": self.type,
            "quantizerType": self.quantizer,
            "quantizationByteSize": self.quantized_bytes,
            "indexingSearchListSize": self.search_list_size,
            "vectorIndexShardKey": None if self.shard_key is None else [path.text for path in self.shard_key],
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class FullTextIndex:
    """An index over the words of a text."""

    path: KeyPath

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path.text}


# ---- vectors


def read_embeddings(value: object) -> tuple[Embedding, ...]:
    """The vector embedding policy."""
    part = Part("vector embedding policy", "vectorEmbeddingPolicy", value)
    embeddings = tuple(_read_embedding(entry) for entry in part.at("vectorEmbeddings").each())
    _check_once(part, [embedding.path for embedding in embeddings])
    return embeddings


def _read_embedding(part: Part) -> Embedding:
    data_type = part.at("dataType").value
    if data_type not in DATA_TYPES:
        raise part.refuse(f"The Vector Embedding Policy has an invalid DataType:{data_type}.")
    distance = part.at("distanceFunction").value
    if distance not in DISTANCES:
        raise part.refuse(f"The Vector Embedding Policy has an invalid DistanceFunction:{distance}.")
    size = part.at("dimensions")
    dimensions = size.whole(-(1 << 31), (1 << 31) - 1)
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        limit = "less than the minimum supported value 1"
        if dimensions > 0:
            limit = f"more than the maximum supported value {MOST_DIMENSIONS}"
        raise part.refuse(f"The Vector Embedding Policy has Dimensions:{dimensions} which is {limit}.")
    source = part.at("embeddingSource")
    path = parse_property(part.at("path"))
    return Embedding(path, str(data_type), dimensions, str(distance), _read_source(source) if source.is_sent else None)


def _read_source(part: Part) -> dict[str, Any]:
    paths = part.at("sourcePaths")
    if not paths.each():
        raise paths.wrong("a list of paths, one at least")
    source: dict[str, Any] = {"sourcePaths": [parse_property(path).text for path in paths.each()]}
    source["deploymentName"] = part.at("deploymentName").words()
    if part.at("modelName").is_sent:
        source["modelName"] = part.at("modelName").words()
    source["endpoint"] = part.at("endpoint").words()
    source["authType"] = part.at("authType").value
    if source["authType"] not in AUTHORIZATIONS:
        raise part.refuse("The auth type provided in the embedding source of vector policy is invalid.")
    return source


def read_vector_indexes(part: Part) -> tuple[VectorIndex, ...]:
    indexes = tuple(_read_vector_index(entry) for entry in part.each())
    _check_once(part, [index.path for index in indexes])
    return indexes


def _read_vector_index(part: Part) -> VectorIndex:
    kind = part.at("type").value
    if kind not in VECTOR_TYPES:
        raise part.refuse(f"The Vector Indexing Policy's Index Type::{kind} is invalid.")
    quantizer = part.at("quantizerType")
    return VectorIndex(
        parse_property(part.at("path")),
        str(kind),
        quantizer.choice(*QUANTIZERS) if quantizer.is_sent else None,
        _read_size(part, "quantizationByteSize", 1, MOST_QUANTIZED_BYTES),
        _read_size(part, "indexingSearchListSize", *SEARCH_LIST_SIZES),
        _read_shard_key(part.at("vectorIndexShardKey")),
    )


def _read_size(part: Part, name: str, low: int, high: int) -> int | None:
    size = part.at(name)
    if not size.is_sent:
        return None
    value = size.whole(-(1 << 31), (1 << 31) - 1)
    if not low <= value <= high:
        title = name[0].upper() + name[1:]
        raise part.refuse(
            f"The Vector Indexing Policy parameter {title} value :: {value} is out of range. "
            f"The allowed range is between {low} and {high}."
        )
    return value


def _read_shard_key(part: Part) -> tuple[KeyPath, ...] | None:
    if not part.is_sent:
        return None
    entries = part.each()
    if len(entries) > MOST_SHARD_PATHS:
        raise part.refuse(
            f"The number of shard paths defined in the Vector Indexing Policy: {len(entries)} "
            f"exceeds the maximum: {MOST_SHARD_PATHS}."
        )
    paths = []
    for entry in entries:
        path = find_property(entry)
        if path is None:
            raise part.refuse(f"The Vector Indexing Policy has an invalid Shard Path: {entry.value}.")
        paths.append(path)
    return tuple(paths)


def check_vectors(indexes: tuple[VectorIndex, ...], embeddings: tuple[Embedding, ...]) -> None:
    """Hold the indexes against the policy."""
    known = {embedding.path.names: embedding for embedding in embeddings}
    for at, index in enumerate(indexes):
        part = Part("indexing policy", f"indexingPolicy.vectorIndexes[{at}]", index.to_json())
        embedding = known.get(index.path.names)
        if embedding is None:
            raise part.refuse(f"The Vector Indexing Policy's path::{index.path.text} not matching in Embedding's path.")
        if index.type == "flat" and embedding.dimensions > MOST_FLAT_DIMENSIONS:
            raise part.refuse(
                f"The Vector Indexing Policy's Index Type::flat takes {MOST_FLAT_DIMENSIONS} dimensions at most, "
                f"{index.path.text} has {embedding.dimensions}."
            )
        _read_size(part, "quantizationByteSize", 1, min(MOST_QUANTIZED_BYTES, embedding.dimensions))


def check_kept(old: tuple[VectorIndex, ...], new: tuple[VectorIndex, ...]) -> None:
    """Refuse to change or to drop a vector index."""
    if not set(old) <= set(new):
        raise Part("indexing policy", "", None).refuse(
            "Paths in existing vector indexing policy cannot be modified in Collection Replace"
        )


def check_embeddings_kept(old: tuple[Embedding, ...], new: tuple[Embedding, ...]) -> None:
    """Refuse to change or to drop what is known of existing vectors."""
    if any(embedding not in new for embedding in old):
        raise Part("vector embedding policy", "", None).refuse(
            "Paths in existing embedding policy cannot be modified in Collection Replace"
        )


# ---- full text


def read_fulltext(value: object) -> dict[str, Any]:
    """The full-text policy as clients see it."""
    part = Part("full text policy", "fullTextPolicy", value)
    language = part.at("defaultLanguage")
    text: dict[str, Any] = {"defaultLanguage": _read_language(language) if language.is_sent else LANGUAGES[0]}
    paths = part.at("fullTextPaths")
    if paths.is_sent:
        text["fullTextPaths"] = [_read_fulltext_path(entry) for entry in paths.each()]
    return text


def _read_fulltext_path(part: Part) -> dict[str, Any]:
    path = find_property(part.at("path"))
    if path is None:
        raise part.refuse(f"The Full Text Policy contains an invalid Path: {part.at('path').value}")
    language = part.at("language")
    return {"path": path.text} | ({"language": _read_language(language)} if language.is_sent else {})


def _read_language(part: Part) -> str:
    language = part.text()
    if language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise part.refuse(f"The Full Text Policy contains an unsupported language: {language}. Supported are: {known}.")
    return language


def read_fulltext_indexes(part: Part) -> tuple[FullTextIndex, ...]:
    indexes = tuple(FullTextIndex(parse_property(entry.at("path"))) for entry in part.each())
    _check_once(part, [index.path for index in indexes])
    return indexes


def check_fulltexts(indexes: tuple[FullTextIndex, ...], policy: Mapping[str, Any]) -> None:
    """Hold the indexes against the policy."""
    paths = Part("full text policy", "fullTextPolicy", policy).at("fullTextPaths").each()
    known = {parse_property(entry.at("path")).names for entry in paths}
    for index in indexes:
        if index.path.names not in known:
            raise Part("indexing policy", "", None).refuse(
                f"The Full Text Indexing Policy's path::{index.path.text} not matching in the Full Text Policy's paths."
            )


def _check_once(part: Part, paths: list[KeyPath]) -> None:
    if len({path.names for path in paths}) < len(paths):
        raise part.refuse(f"a path stands in {part.place} twice")
