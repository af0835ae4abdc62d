"""The index on many machines: Lance keeps it, Ray runs it, the calls are the Index's own."""

from onlinehash.cluster.bulk import load as load
from onlinehash.cluster.index import ClusterIndex as ClusterIndex
from onlinehash.cluster.index import create as create
from onlinehash.cluster.index import open as open
from onlinehash.cluster.look import check as check
from onlinehash.cluster.look import stats as stats
from onlinehash.cluster.moves import to_file as to_file
from onlinehash.cluster.moves import to_lance as to_lance
