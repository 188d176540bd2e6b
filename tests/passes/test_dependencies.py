"""Which units run before others, against a search through the graph of what reads from what."""

import random

import pytest

from funcgrad.passes.dependencies import Dependencies


class Searched:
    """The same by search: `reads` holds for each unit those that it reads from."""

    def __init__(self):
        self.reads = {}

    def ahead(self, units):
        seen, waiting = set(), list(units)
        while waiting:
            for k in self.reads[waiting.pop()] - seen:
                seen.add(k)
                waiting.append(k)
        return seen

    def legal(self, merged, producers):
        """No unit outside stands between two that become one."""
        outside = (self.ahead(merged | producers) | producers) - merged
        return not any(self.ahead({k}) & merged for k in outside)

    def merge(self, target, other):
        self.reads[target] |= self.reads.pop(other)
        for k, reads in self.reads.items():
            if other in reads:
                self.reads[k] = reads - {other} | {target}
        self.reads[target] -= {target, other}


def mask(numbers):
    return sum(1 << k for k in numbers)


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    draw = random.Random(seed)
    units, searched = Dependencies(), Searched()
    for _ in range(60):
        alive = sorted(searched.reads)
        producers = set(draw.sample(alive, min(len(alive), draw.randrange(4))))
        if draw.random() < 0.5 or len(alive) < 3:
            number = units.add(object(), mask(producers))
            assert number not in searched.reads
            searched.reads[number] = producers
        else:
            merged = set(draw.sample(alive, draw.randrange(1, 4)))
            producers -= merged
            legal = searched.legal(merged, producers)
            assert units.legal(mask(merged), mask(producers)) == legal
            if not legal or searched.ahead(producers) & merged:
                continue
            target, *others = sorted(merged, key=lambda k: units.age[k])
            for other in others:
                units.merge(target, other)
                searched.merge(target, other)
            units.extend(target, mask(producers))
            searched.reads[target] |= producers
        for k in searched.reads:
            assert units.before[k] == mask(searched.ahead({k}))
            assert units.after[k] == mask(j for j in searched.reads if k in searched.ahead({j}))
    ordered = units.ordered()
    place = {id(u): n for n, u in enumerate(ordered)}
    assert len(ordered) == len(searched.reads)
    for k, reads in searched.reads.items():
        assert all(place[id(units.units[j])] < place[id(units.units[k])] for j in reads)
