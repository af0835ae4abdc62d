"""The actors of all shards: started by Ray, brought back by Ray, and given again what they lost.

A member that does not answer is down: nothing waits for it, and it is loaded from the dataset again as
soon as Ray has restarted it. What changes meanwhile it is told afterwards, so it comes back exact.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from onlinehash.cluster.layout import Layout
from onlinehash.cluster.place import Place
from onlinehash.cluster.shard import Shard
from onlinehash.errors import OnlineHashError, ShardsMissingError

log = logging.getLogger(__name__)

_CALLS = 32  # that a shard works on side by side
_HEDGE = 1.0  # seconds after which another replica is asked, too
_PAUSE = 0.05
_LEAST_CPUS = 0.001  # of an actor: Ray puts those that take nothing anywhere


class MovedError(Exception):
    """What was asked for is no longer served: ask for what is."""


@dataclass(eq=False)
class Member:
    """One actor."""

    shard: int
    handle: Any
    up: bool = False  # it has the newest state and generation
    epoch: int = 0  # of its last load
    missed: list[tuple[Any, ...]] = field(default_factory=list)  # changes since that load began
    mending: bool = False
    seconds: float | None = None  # that the last recovery took
    memory: int = 0

    def call(self, method: str, *values: Any) -> Any:
        """Start a call."""
        return getattr(self.handle, method).remote(*values)

    def change(self, method: str, *values: Any) -> Any:
        """Start a call that changes what it holds."""
        return self.call(method, self.epoch, *values)


def start(place: Place, layout: Layout, replicas: int, cpus: float) -> list[list[Member]]:
    """Actors, for each shard its replicas, dealt out to the nodes in turn: no two replicas on one."""
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level=logging.WARNING)
    kind: Any = ray.remote(Shard)
    share = max(cpus, _LEAST_CPUS)
    nodes = _nodes(share)

    def one(shard: int, replica: int) -> Member:
        where: Any = "SPREAD"
        if nodes:  # soft: where a node is lost, its actors go on elsewhere
            node = nodes[(shard * replicas + replica) % len(nodes)]
            where = NodeAffinitySchedulingStrategy(node, soft=True, _spill_on_unavailable=True)
        actor = kind.options(
            num_cpus=share if nodes else cpus, max_restarts=-1, max_task_retries=0, max_concurrency=_CALLS,
            scheduling_strategy=where,
        )  # fmt: skip
        return Member(shard, actor.remote(place, layout, shard))

    return [[one(shard, replica) for replica in range(replicas)] for shard in range(layout.shards)]


def _nodes(cpus: float) -> list[str]:
    """Those on which an actor has room."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return sorted(
        node["NodeID"] for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= cpus
    )


def stop(members: list[list[Member]]) -> None:
    """End the actors."""
    for member in (one for of in members for one in of):
        ray.kill(member.handle)


class Team:
    """All members. ``mend`` brings one back; the index gives it, for it knows what to load."""

    def __init__(
        self, members: list[list[Member]], wait_seconds: float, mend: Callable[[Member], None]
    ) -> None:
        self.members = members
        self.wait_seconds = wait_seconds
        self._mend = mend
        self._turn = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def all(self) -> list[Member]:
        """Of all shards."""
        return [member for of in self.members for member in of]

    def missing(self) -> list[int]:
        """Shards of which no replica is up."""
        return [shard for shard, of in enumerate(self.members) if not any(member.up for member in of)]

    def tell(self, calls: Sequence[tuple[Member, Callable[[], Any]]]) -> dict[Member, Any]:
        """Start calls side by side; what they gave back. A member that fails is down."""
        deadline = time.monotonic() + self.wait_seconds
        refs = [(member, start_call()) for member, start_call in calls]
        found = {}
        for member, ref in refs:
            try:
                found[member] = ray.get(ref, timeout=max(0.001, deadline - time.monotonic()))
            except (RayActorError, RayTaskError, GetTimeoutError) as error:
                log.warning("shard %d: %s", member.shard, str(error).splitlines()[0])
                self.down(member)
        return found

    def ask(
        self, calls: dict[int, Callable[[Member], Any]], partial: bool, current: Callable[[], bool],
        wait_seconds: float | None = None,
    ) -> dict[int, Any]:  # fmt: skip
        """Ask one replica of each shard, another where it fails, until all have answered or time is up.

        An answer of None says that the member has not what was asked for: as it should, if that is no
        longer ``current``; otherwise it was restarted, and nobody has noticed yet.
        """
        deadline = time.monotonic() + (self.wait_seconds if wait_seconds is None else wait_seconds)
        found: dict[int, Any] = {}
        under_way: dict[Any, tuple[int, Member]] = {}
        asked: dict[int, float] = {}
        avoid: set[Member] = set()
        self._turn += 1
        while len(found) < len(calls):
            now = time.monotonic()
            waiting = False
            for shard, call in calls.items():
                if shard in found or now - asked.get(shard, -1e9) < _HEDGE:
                    continue
                at_work = {member for of, member in under_way.values() if of == shard}
                member = self._choose(shard, at_work | avoid)
                if member is not None:
                    under_way[call(member)] = shard, member
                    asked[shard] = now
                elif not at_work:
                    waiting = True
            left = deadline - now
            if left <= 0 or (partial and not under_way):
                break
            if not under_way:
                with self._changed:
                    self._changed.wait(min(_PAUSE, left))
                avoid.clear()
                continue
            pause = min(left, _PAUSE if waiting else _HEDGE)
            ready, _ = ray.wait(list(under_way), num_returns=1 if waiting else len(under_way), timeout=pause)
            for ref in ready:
                shard, member = under_way.pop(ref)
                try:
                    answer = ray.get(ref)
                except RayActorError:
                    asked.pop(shard, None)
                    self.down(member)
                except RayTaskError as error:
                    if isinstance(error.cause, OnlineHashError):
                        raise error.cause from None
                    raise
                else:
                    if answer is None and not current():
                        raise MovedError
                    if answer is None:
                        asked.pop(shard, None)
                        avoid.add(member)
                        self.down(member)
                    else:
                        found.setdefault(shard, answer)
        if len(found) < len(calls) and not partial:
            missing = sorted(set(calls) - set(found))
            raise ShardsMissingError(
                f"shards {missing} of {len(self.members)} do not answer; "
                "partial=True finds what the others have"
            )
        return found

    def down(self, member: Member) -> None:
        """Bring a member back, behind."""
        with self._changed:
            member.up = False
            if member.mending or self._closed:
                return
            member.mending = True
        threading.Thread(target=self._mend_until_up, args=(member,), daemon=True).start()

    def up(self, member: Member) -> None:
        """It has all that it should."""
        with self._changed:
            member.up = True
            self._changed.notify_all()

    def close(self) -> None:
        """No member is brought back any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _choose(self, shard: int, but: set[Member]) -> Member | None:
        of = self.members[shard]
        for i in range(len(of)):
            member = of[(self._turn + i) % len(of)]
            if member.up and member not in but:
                return member
        return None

    def _mend_until_up(self, member: Member) -> None:
        started = time.monotonic()
        while not self._closed and not member.up:
            try:
                self._mend(member)
            except (RayActorError, RayTaskError, GetTimeoutError, OnlineHashError) as error:
                log.info("shard %d is not back yet: %s", member.shard, str(error).splitlines()[0])
                time.sleep(_PAUSE)
            except Exception:
                if not self._closed:
                    log.exception("shard %d cannot be brought back", member.shard)
                    time.sleep(1)
        with self._changed:
            member.mending = False
        member.seconds = time.monotonic() - started
