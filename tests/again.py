"""A shard that can begin again as another."""

from onlinehash.cluster.layout import Layout
from onlinehash.cluster.place import Place
from onlinehash.cluster.shard import Shard


class Again(Shard):
    """Its actor is used by one index after another."""

    def begin_again(self, place: Place, layout: Layout, number: int) -> None:
        self.__init__(place, layout, number)  # type: ignore[misc]
