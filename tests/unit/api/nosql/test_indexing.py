"""The indexing policy: defaults, lists, composite and spatial indexes."""

from typing import Any

import pytest

from armillary.api.nosql.indexing import read_indexing
from armillary.errors import Kind, Refusal

ETAG = '/"_etag"/?'


def paths(*texts: str) -> list[dict[str, str]]:
    return [{"path": text} for text in texts]


def show(**policy: Any) -> dict[str, Any]:
    return read_indexing(policy).to_json()


def refused(**policy: Any) -> str:
    with pytest.raises(Refusal) as caught:
        read_indexing(policy)
    assert caught.value.kind is Kind.BAD_DEFINITION
    return str(caught.value)


@pytest.mark.parametrize(
    "policy",
    [
        None,
        {},
        {"indexingMode": "consistent"},
        {"indexingMode": "Consistent", "automatic": True},
        {"includedPaths": [], "excludedPaths": []},
        {"includedPaths": paths("/*")},
        {"includedPaths": paths("/")},
        {"excludedPaths": paths(ETAG)},
        {"includedPaths": [{"path": "/*", "indexes": [{"kind": "Hash", "dataType": "String"}]}]},
        {"includedPaths": [{"path": "/", "indexes": [{"kind": "Range", "dataType": "Number", "precision": -1}]}]},
        {"compositeIndexes": [], "spatialIndexes": [], "vectorIndexes": [], "fullTextIndexes": []},
    ],
)
def test_the_default(policy: object) -> None:
    assert read_indexing(policy).to_json() == {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": paths("/*"),
        "excludedPaths": paths(ETAG),
    }


@pytest.mark.parametrize(
    ("included", "excluded", "shown"),
    [
        (["/*"], ["/a/?"], (["/*"], ["/a/?", ETAG])),
        (["/a/?"], ["/*"], (["/a/?"], ["/*", ETAG])),
        ([], ["/*"], ([], ["/*", ETAG])),
        ([], ["/a/*"], (["/*"], ["/a/*", ETAG])),
        (["/*"], ["/_etag/?"], (["/*"], ["/_etag/?"])),
        (["/*", ETAG], [], (["/*", ETAG], [])),
        (["/"], ['/"systemMetadata"/*'], (["/*"], ['/"systemMetadata"/*', ETAG])),
        (["/*", "/events/[]/{name, category}/?"], [], (["/*", "/events/[]/{name, category}/?"], [ETAG])),
    ],
)
def test_lists(included: list[str], excluded: list[str], shown: tuple[list[str], list[str]]) -> None:
    policy = show(includedPaths=paths(*included), excludedPaths=paths(*excluded))
    assert (policy["includedPaths"], policy["excludedPaths"]) == (paths(*shown[0]), paths(*shown[1]))


@pytest.mark.parametrize("policy", [{"indexingMode": "none"}, {"indexingMode": "None", "automatic": False}])
def test_no_indexing(policy: dict[str, Any]) -> None:
    none = {"indexingMode": "none", "automatic": False, "includedPaths": [], "excludedPaths": []}
    assert show(**policy) == none
    assert show(**none) == none


def test_lazy_indexing_is_remembered() -> None:
    assert show(indexingMode="lazy")["indexingMode"] == "lazy"


@pytest.mark.parametrize(
    ("policy", "fragment"),
    [
        ({"indexingMode": "eager"}, "consistent, lazy, none"),
        ({"indexingMode": None, "automatic": "yes"}, "true or false"),
        ({"indexingMode": "none", "automatic": True}, "cannot be automatic"),
        ({"includedPaths": paths("/a/?")}, 'The special mandatory indexing path "/*" is not provided'),
        ({"includedPaths": paths("/a/?"), "excludedPaths": paths("/b/?")}, "special mandatory indexing path"),
        ({"includedPaths": paths("/*"), "excludedPaths": paths("/*")}, "twice"),
        ({"includedPaths": paths("/*", "/a/?"), "excludedPaths": paths('/"a"/?')}, "twice"),
        ({"includedPaths": paths("/*", "/a")}, "failed near position '2'"),
        ({"includedPaths": ["/*"]}, "One of the specified inputs is invalid"),
        ({"includedPaths": {"path": "/*"}}, "must be a list"),
        ({"includedPaths": [{}]}, "must be a text"),
        ({"excludedPaths": paths(*(f"/p{n}/?" for n in range(1501)))}, "limit is 1500"),
        ({"includedPaths": [{"path": "/*", "indexes": [{"kind": "Tree"}]}]}, "Hash, Range, Spatial"),
        ({"includedPaths": [{"path": "/*", "indexes": [{"kind": "Hash", "dataType": "Point"}]}]}, "String, Number"),
    ],
)
def test_bad_policies(policy: dict[str, Any], fragment: str) -> None:
    assert fragment in refused(**policy)


def test_as_many_paths_as_allowed() -> None:
    assert len(show(excludedPaths=paths(*(f"/p{n}/?" for n in range(1500))))["excludedPaths"]) == 1501


# ---- composite


def composite(*texts: str) -> list[dict[str, str]]:
    return [{"path": text, "order": "ascending"} for text in texts]


def test_composite_indexes() -> None:
    indexes = [
        [{"path": "/a", "order": "ascending"}, {"path": "/b/c", "order": "descending"}],
        composite(*(f"/p{n}" for n in range(8))),
    ]
    assert show(compositeIndexes=indexes)["compositeIndexes"] == indexes


def test_composite_paths_ascend_by_default() -> None:
    shown = show(compositeIndexes=[[{"path": "/a"}, {"path": "/b", "order": "Descending"}]])["compositeIndexes"]
    assert shown == [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]]


def test_composite_indexes_keep_what_they_lead_to() -> None:
    ((first, second),) = read_indexing(
        {"compositeIndexes": [[{"path": '/"a-b"/c'}, {"path": "/d", "order": "descending"}]]}
    ).composites
    assert (first.path.names, first.descending) == (("a-b", "c"), False)
    assert (second.path.names, second.descending) == (("d",), True)


@pytest.mark.parametrize(
    ("indexes", "fragment"),
    [
        ([composite("/a")], "from 2 to 8 paths"),
        ([[]], "from 2 to 8 paths"),
        ([composite(*(f"/p{n}" for n in range(9)))], "from 2 to 8 paths"),
        ([composite("/a", "/b")] * 101, "limit is 100"),
        ([composite("/a", "/b/?")], "failed near position '2'"),
        ([composite("/a", "/b/*")], "failed near position '2'"),
        ([composite("/a", "/b/[]")], "could not be accepted"),
        ([composite("/a", '/"a"')], "twice"),
        ([[{"path": "/a", "order": "up"}, {"path": "/b"}]], "ascending, descending"),
        (composite("/a", "/b"), "must be a list"),
        ([["/a", "/b"]], "must be an object"),
    ],
)
def test_bad_composite_indexes(indexes: object, fragment: str) -> None:
    assert fragment in refused(compositeIndexes=indexes)


# ---- spatial


def test_spatial_indexes() -> None:
    indexes = [
        {"path": "/path0/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]},
        {"path": "/path1/?", "types": ["Point"]},
    ]
    assert show(spatialIndexes=indexes)["spatialIndexes"] == indexes


def test_spatial_indexes_take_all_shapes_by_default() -> None:
    shown = show(spatialIndexes=[{"path": "/a/*"}])["spatialIndexes"]
    assert shown == [{"path": "/a/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]}]


def test_old_spatial_indexes_become_new_ones() -> None:
    old = {"path": '/"Location"/?', "indexes": [{"kind": "Spatial", "dataType": "Point"}]}
    policy = show(includedPaths=[old, {"path": "/"}])
    assert policy["spatialIndexes"] == [{"path": '/"Location"/?', "types": ["Point"]}]
    assert policy["includedPaths"] == paths('/"Location"/?', "/*")
    assert show(**policy) == policy


@pytest.mark.parametrize(
    "index",
    [
        {"path": "/a", "types": ["Point"]},
        {"path": "/a/*", "types": ["Circle"]},
        {"path": "/a/*", "types": "Point"},
        {"path": "/a/*", "boundingBox": {"xmin": 0, "ymin": 0, "xmax": 10}},
        {"path": "/a/*", "boundingBox": {"xmin": 0, "ymin": 0, "xmax": "10", "ymax": 10}},
        {"path": "/a/*", "boundingBox": {"xmin": 10, "ymin": 0, "xmax": 10, "ymax": 10}},
        {"types": ["Point"]},
    ],
)
def test_bad_spatial_indexes(index: object) -> None:
    assert refused(spatialIndexes=[index])
