from pathlib import Path

import pytest


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    return tmp_path / "photos.lance"
