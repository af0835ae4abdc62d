"""``python -m tests.server.by_schema [--cases N]``: schemathesis against a server, by its OpenAPI document.

The document is narrowed first, so that most cases are about indexes that are there and vectors of their
width: else nearly all of them would end at a 404. Cases that break the schema are made all the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from onlinehash.server.limits import Limits
from tests.server.conftest import Running

DIM = 4
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    "unsupported_method",
)  # fmt: skip
_SETTINGS = """
[generation]
allow-x00 = true
"""


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """For indexes that are there, vectors of their width, and JSON."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "name":
                    parameter["schema"] = {"enum": ["other"] if _ends(path, method) else ["photos", "other"]}
            content = operation.get("requestBody", {}).get("content", {})
            for media in [media for media in content if media != "application/json"]:
                del content[media]
    for schema in document["components"]["schemas"].values():
        for name in ("vectors", "sample"):
            for one in _parts(schema.get("properties", {}).get(name, {})):
                if one.get("type") == "array":
                    one["items"] |= {"minItems": DIM, "maxItems": DIM}
    return document


def _ends(path: str, method: str) -> bool:
    return (path, method) in {("/v1/indexes/{name}", "delete"), ("/v1/indexes/{name}", "put")}


def _parts(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [schema, *schema.get("anyOf", [])]


def main(arguments: list[str] | None = None) -> int:
    """Start a server, run schemathesis, and say what it found; 0 if nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="for each of the operations")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(dim=64, n_bits=64, base_bits=128, indexes=5)
        running = Running(Path(folder, "indexes"), limits=limits)
        try:
            first = {"dim": DIM, "n_bits": 8, "parameters": {"n_init": 4, "base_bits": 8}}
            running.client.put("/v1/indexes/photos", json=first).raise_for_status()
            items = {"ids": [*"abc", 1, 2], "vectors": [[i, 1, i * i, 2 - i] for i in range(5)]}
            running.client.put("/v1/indexes/photos/items", json=items).raise_for_status()
            document = Path(folder, "openapi.json")
            document.write_text(json.dumps(narrowed(running.client.get("/openapi.json").json())))
            Path(folder, "schemathesis.toml").write_text(_SETTINGS)
            command = [
                sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", running.url,
                "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
                "--exclude-path-regex", "/events$", "--max-examples", str(given.cases), "--seed",
                str(given.seed), "--generation-database", "none", "--suppress-health-check", "all",
                "--continue-on-failure", "--request-timeout", "60", "--no-color", "--warnings", "off",
            ]  # fmt: skip
            done = subprocess.run(command, cwd=folder, check=False)
            assert running.client.get("/readyz").status_code == 200
        finally:
            running.stop()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
