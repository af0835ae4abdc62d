"""The OpenAPI document is true, and no request that it leads to makes the server fail."""

import httpx
import pytest

from onlinehash import OHWEU
from onlinehash.server.forms import Parameters
from tests.server import by_schema


@pytest.mark.slow
def test_cases_made_from_the_document() -> None:
    assert by_schema.main(["--cases", "3"]) == 0


def test_the_parameters_are_those_of_the_hasher() -> None:
    assert Parameters().model_dump() == {
        name: value for name, value in OHWEU().get_params().items() if name != "n_bits"
    }


def test_the_document(server: httpx.Client) -> None:
    document = server.get("/openapi.json").json()
    calls = [call for methods in document["paths"].values() for call in methods.values()]
    assert len(calls) == 19
    for call in calls:
        assert call["summary"], call
        assert call["description"], call
        for answer in call["responses"].values():
            assert answer["content"], call
    for form in ("PutItems", "Learn", "Tag", "Search", "Delete", "IdsOnly"):
        properties = document["components"]["schemas"][form]["properties"]
        assert any("examples" in str(one) for one in properties.values()), form
    text = str(document)
    for reference in {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in document["components"]["schemas"]
