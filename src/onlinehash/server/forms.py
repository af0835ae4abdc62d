"""The forms of requests. Types are strict, unknown fields are refused; what an index checks, it checks.

JSON is read and checked by pydantic in one step, without a Python object for what is refused; that
takes about as long as reading alone does elsewhere. Arrays from binary bodies pass as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from onlinehash.hashers.ohweu import LearnerName
from onlinehash.index.results import Score
from onlinehash.kernels.learn import Rule
from onlinehash.labels import LabelRows
from onlinehash.targets import Rows

Id = Annotated[int, Field(ge=-(2**63), lt=2**63)] | str
Label = int | str


class _Array:
    """An array in Python; in JSON something else, that becomes one when it is read."""

    def __init__(self, in_json: Any, convert: Callable[[Any], npt.NDArray[Any]]) -> None:
        self.in_json, self.convert = in_json, convert

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(
            core_schema.no_info_after_validator_function(self.convert, handler.generate_schema(self.in_json)),
            core_schema.is_instance_schema(np.ndarray),
        )

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core["json_schema"])


def _vectors(rows: list[list[float]]) -> npt.NDArray[Any]:
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows of different lengths")
    with np.errstate(over="ignore"):  # the index says what is beyond float32
        return np.array(rows, np.float32)


def _codes(rows: list[str]) -> npt.NDArray[Any]:
    if len({len(row) for row in rows}) > 1:
        raise ValueError("codes of different lengths")
    return np.frombuffer(bytes.fromhex("".join(rows)), np.uint8).reshape(len(rows), -1 if rows else 0)


Vectors = Annotated[Any, _Array(list[list[float]], _vectors)]
Codes = Annotated[Any, _Array(list[Annotated[str, Field(pattern="^([0-9a-fA-F]{2})+$")]], _codes)]
Ids = list[Id]
Labels = list[Label | list[Label] | None]
Payloads = list[dict[str, Any] | None]
Where = dict[str, Any]

_VECTORS: Any = {"examples": [[[0.1, -0.2, 0.3, 0.9]]]}


class Form(BaseModel):
    """What all forms have in common."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    def n_rows(self) -> int:
        """How many rows it is about."""
        for name in ("ids", "vectors"):
            rows = getattr(self, name, None)
            if rows is not None:
                return len(rows)
        return 0


class Parameters(Form):
    """Those of ``OHWEU``, with its defaults."""

    base_bits: Annotated[int, Field(ge=1)] | Literal["auto"] | None = "auto"
    pairs: bool = True
    learner: LearnerName = "ridge"
    half_life: Annotated[float, Field(gt=0)] | None = None
    targets: Rows = "orthogonal"
    rule: Rule = "floored"
    average: bool = True
    C_P: Annotated[float, Field(gt=0)] = 0.3
    C_R: Annotated[float, Field(gt=0)] = 0.3
    start: Literal["base", "random"] = "base"
    n_init: Annotated[int, Field(ge=2, le=100_000)] = 1000
    centre: bool = True
    unit_norm: bool = True
    random_state: Annotated[int, Field(ge=0, lt=2**32)] = 0


class Create(Form):
    """A new index. With a sample of vectors it is initialised at once."""

    dim: Annotated[int | None, Field(ge=1, examples=[4])] = None
    n_bits: Annotated[int | None, Field(ge=1, examples=[16])] = None
    keep_vectors: bool = False
    durability: Literal["full", "normal"] = "full"
    exist_ok: bool = False
    parameters: Parameters = Field(default_factory=Parameters)
    sample: Vectors | None = None


class PutItems(Form):
    """Items to add, or to put in place of those with their ids."""

    ids: Annotated[Ids, Field(examples=[["a.jpg", "b.jpg"]])]
    vectors: Annotated[
        Vectors | None, Field(json_schema_extra={"examples": [[[0.1, -0.2, 0.3, 0.9], [1, 0, 0, 0]]]})
    ] = None
    codes: Annotated[Codes | None, Field(description="base codes in hexadecimal, in place of vectors")] = None
    labels: Annotated[Labels | None, Field(examples=[[["cat"], []]])] = None
    payloads: Annotated[Payloads | None, Field(examples=[[{"year": 2020}, None]])] = None
    replace: Annotated[bool, Field(description="false: an id that is there already is refused")] = True


class IdsOnly(Form):
    """Items by their ids."""

    ids: Annotated[Ids, Field(examples=[["a.jpg"]])]


class Delete(IdsOnly):
    """Items to delete, all of them or none."""

    missing_ok: bool = False


class Learn(Form):
    """Labelled vectors to learn from; they are not kept."""

    vectors: Annotated[Vectors, Field(json_schema_extra=_VECTORS)]
    labels: Annotated[Labels, Field(examples=[[["cat", "indoor"]]])]
    wait: Annotated[bool, Field(description="answer when it is served; false: when it is on the disk")] = True


class Tag(Form):
    """Labels for stored items, to learn from."""

    ids: Annotated[Ids, Field(examples=[["a.jpg"]])]
    labels: Annotated[Labels, Field(examples=[["favourite"]])]
    keep: Annotated[bool, Field(description="keep the labels with the items, to filter by")] = True
    wait: Annotated[bool, Field(description="answer when it is served; false: when it is on the disk")] = True


class Search(Form):
    """Queries: vectors, or the ids of stored items."""

    vectors: Annotated[Vectors | None, Field(json_schema_extra=_VECTORS)] = None
    ids: Ids | None = None
    k: Annotated[int, Field(ge=1)] = 10
    where: Annotated[Where | None, Field(examples=[{"year": {"gte": 2010}}])] = None
    score: Score = "asymmetric"
    rerank: Annotated[int | None, Field(ge=1)] = None
    payloads: bool = False


def rows_of(labels: Labels) -> LabelRows:
    """Lists in JSON are collections of labels always, never a matrix of 0 and 1."""
    return LabelRows.of(() if row is None else row if isinstance(row, list) else (row,) for row in labels)
