"""The barriers that a flow needs, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ....ir import Var
from .access import Access
from .flow import Flow, Item

Ages = frozenset[tuple[Item, int]]
"""For loops around an access: by how many iterations they have gone on since; -n stands for n or more.

For one that has ended since, it counts from its last iteration.
"""
Known = dict[tuple[int, Ages], tuple[Access, Ages]]
Needs = Callable[[Access, Access, Mapping[Item, int]], bool]
"""Whether threads must wait between two accesses, the first so much earlier."""


class Lack(Exception):
    """Two accesses between which threads must wait, and do not."""

    def __init__(self, first: Access, ages: Ages, second: Access) -> None:
        self.first, self.ages, self.second = first, ages, second

    @property
    def place(self) -> Item:
        """The item before which a barrier parts the two, as far out as possible."""
        around, here = self.first.item.chain, self.second.item.chain
        level = 0
        while level < min(len(around), len(here) - 1) and around[level] is here[level]:
            level += 1
        for depth, item in enumerate(here[:level]):
            if any(loop is item and age for loop, age in self.ages):
                level = depth + 1
        found: Item = here[level]
        return found


class State:
    """What was accessed since the last barrier; copies in flight by their groups, the latest last."""

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest
        self.reads: dict[Var, Known] = {}
        self.writes: dict[Var, Known] = {}
        self.groups: list[Known] = [{}]

    def copy(self) -> State:
        """Another state of the same content."""
        made = State(self.oldest)
        made.reads = {root: dict(known) for root, known in self.reads.items()}
        made.writes = {root: dict(known) for root, known in self.writes.items()}
        made.groups = [dict(g) for g in self.groups]
        return made

    def clear(self) -> None:
        """All threads have waited for each other."""
        self.reads, self.writes = {}, {}

    def add(self, access: Access, ages: Ages = frozenset()) -> None:
        """One more access."""
        table = self.writes if access.write else self.reads
        table.setdefault(access.root, {})[id(access), ages] = (access, ages)

    def before(self, access: Access) -> Iterator[tuple[Access, Ages]]:
        """The accesses that may be in conflict with the next one."""
        yield from self.writes.get(access.root, {}).values()
        if access.write:
            yield from self.reads.get(access.root, {}).values()

    def join(self, other: State) -> None:
        """What may have happened on either way."""
        for mine, theirs in ((self.reads, other.reads), (self.writes, other.writes)):
            for root, known in theirs.items():
                mine.setdefault(root, {}).update(known)
        missing = len(other.groups) - len(self.groups)
        self.groups = [{} for _ in range(missing)] + self.groups
        for group, more in zip(reversed(self.groups), reversed(other.groups)):
            group.update(more)

    def passed(self, loop: Item) -> None:
        """The loop goes on to its next iteration."""
        self._renew(lambda access, ages: self._older(loop, access, ages))

    def left(self, loop: Item) -> None:
        """The loop has ended: where its iterations are counted, ages count from the last one."""
        self._renew(lambda access, ages: self._ended(loop, access, ages))

    def _ended(self, loop: Item, access: Access, ages: Ages) -> Ages:
        if loop not in access.loops or any(lp in loop.chain and lp is not loop for lp, _ in ages):
            return ages
        if loop.count is None:
            return frozenset([(lp, n) for lp, n in ages if lp is not loop])
        return ages if any(lp is loop for lp, _ in ages) else ages | {(loop, 0)}

    def _older(self, loop: Item, access: Access, ages: Ages) -> Ages:
        """Where a loop further out has gone on, those inside have begun anew, and their ages do not count."""
        if loop not in access.loops or any(lp in loop.chain and lp is not loop for lp, _ in ages):
            return ages
        old = dict(ages).get(loop, 0)
        new = old if old < 0 else old + 1 if old + 1 < self.oldest else -self.oldest
        return frozenset([*[(lp, n) for lp, n in ages if lp is not loop], (loop, new)])

    def _renew(self, change: Callable[[Access, Ages], Ages]) -> None:
        def renewed(known: Known) -> Known:
            pairs = [(access, change(access, ages)) for access, ages in known.values()]
            return {(id(access), ages): (access, ages) for access, ages in pairs}

        self.reads = {root: renewed(known) for root, known in self.reads.items()}
        self.writes = {root: renewed(known) for root, known in self.writes.items()}
        self.groups = [renewed(g) for g in self.groups]


class Run:
    """Goes through a flow with barriers before some of its items; raises Lack where one is missing."""

    def __init__(self, flow: Flow, barriers: set[Item], needs: Needs) -> None:
        self.barriers, self.needs = barriers, needs
        self.rounds = 3 + flow.waits
        self.landings = flow.landings
        self.sequence(flow.items, State(self.rounds - 1))

    def sequence(self, items: Sequence[Item], state: State) -> State:
        """The state after these items."""
        for item in items:
            state = self.item(item, state)
        return state

    def item(self, item: Item, state: State) -> State:
        """The state after an item."""
        if item in self.barriers:
            state.clear()
        self._enter(item.accesses, state)
        if item.barrier:
            state.clear()
        if item.commit:
            state.groups.append({})
        if item.wait is not None:
            self._land(item, state)
        if item.loop:
            return self._loop(item, state)
        outs = [self.sequence(body, state.copy()) for body in item.bodies]
        if item.maybe or not outs:
            outs.append(state)
        for other in outs[1:]:
            outs[0].join(other)
        return outs[0]

    def _enter(self, accesses: Sequence[Access], state: State) -> None:
        for access in accesses:
            for earlier, ages in state.before(access):
                if self.needs(earlier, access, dict(ages)):
                    raise Lack(earlier, ages, access)
        for access in accesses:
            if access.late:
                state.groups[-1][id(access), frozenset()] = (access, frozenset())
            else:
                state.add(access)

    def _land(self, item: Item, state: State) -> None:
        """Copies in flight are done, but for those of the latest groups."""
        assert item.wait is not None
        kept = item.wait + 1  # the group that is not closed yet comes on top
        for group in state.groups[:-kept]:
            for access, ages in group.values():
                state.add(self.landings(access, item), ages)
        state.groups = state.groups[-kept:]

    def _loop(self, item: Item, state: State) -> State:
        outs = [state.copy()] if item.maybe else []
        rounds = self.rounds if item.count is None else min(self.rounds, item.count)
        for _ in range(rounds):
            state = self.sequence(item.bodies[0], state)
            outs.append(state.copy())
            state.passed(item)
        outs = outs if item.count is None else outs[-1:]
        for other in outs[1:]:
            outs[0].join(other)
        outs[0].left(item)
        return outs[0]


def lack(flow: Flow, barriers: set[Item], needs: Needs) -> Lack | None:
    """A place where threads must wait and do not."""
    try:
        Run(flow, barriers, needs)
    except Lack as found:
        return found
    return None
