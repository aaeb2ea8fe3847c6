"""Conflicts: there are none, and clients are told so in the ways they ask."""

from tests.unit.api.nosql.rig import KEYED, open_account

from armillary.json import load


def test_conflicts_are_never_there() -> None:
    account = open_account()
    assert load(account.send("GET", "/dbs/d/colls/c/conflicts").body)["Conflicts"] == []
    query = {"query": "SELECT * FROM r WHERE r.resourceType = 'document'"}
    found = account.send("POST", "/dbs/d/colls/c/conflicts", query, {"x-ms-documentdb-isquery": "True"})
    assert load(found.body)["Conflicts"] == []
    assert account.send("GET", "/dbs/d/colls/c/conflicts/x", headers=KEYED).status == 404
    assert account.send("DELETE", "/dbs/d/colls/c/conflicts/x", headers=KEYED).status == 404
    assert account.send("GET", "/dbs/d/colls/none/conflicts").status == 404
