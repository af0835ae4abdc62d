from pathlib import Path

import pytest

from tests.index.kinds import Kind, OnCluster


@pytest.fixture(params=["embedded", pytest.param("cluster", marks=pytest.mark.xdist_group("ray"))])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "embedded":
        return Kind()
    request.getfixturevalue("actors")
    return OnCluster(tmp_path, request.getfixturevalue("on_ray").address)
