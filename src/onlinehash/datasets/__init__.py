"""Reading the users' files, and the paper's data from its published annotations."""

from onlinehash.datasets.coco import ms_coco
from onlinehash.datasets.columns import read_columns, read_ids
from onlinehash.datasets.dataset import Dataset, Split
from onlinehash.datasets.jsonl import Item, read_jsonl
from onlinehash.datasets.nuswide import nus_wide
from onlinehash.datasets.reading import read

__all__ = [
    "Dataset",
    "Item",
    "Split",
    "ms_coco",
    "nus_wide",
    "read",
    "read_columns",
    "read_ids",
    "read_jsonl",
]
