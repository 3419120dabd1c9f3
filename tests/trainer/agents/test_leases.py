"""Leases as histories of events on clocks that the tests set: never two starts of a run may work at one time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.trainer.agents.leases import Leases, OldStart, Terms

TERMS = Terms(lease_s=60, grace_s=30)
RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leases(clock: Clock) -> Leases:
    return Leases(TERMS, clock)


def test_a_start_that_was_never_granted_holds_up_no_other(leases: Leases):
    leases.open(RUN, 1)
    assert leases.has_lapsed(RUN, 1)
    assert not leases.was_granted(RUN, 1)
    leases.open(RUN, 2)
    with pytest.raises(OldStart, match="at start 2"):
        leases.grant(RUN, 1)


def test_a_granted_lease_is_waited_for_with_its_grace_and_a_margin(leases: Leases, clock: Clock):
    leases.open(RUN, 1)
    leases.grant(RUN, 1)
    clock.now += TERMS.lease_s + TERMS.grace_s
    assert not leases.has_lapsed(RUN, 1)
    with pytest.raises(OldStart, match="may still work"):
        leases.open(RUN, 2)
    clock.now += TERMS.margin_s
    assert leases.has_lapsed(RUN, 1)
    leases.open(RUN, 2)


def test_a_renewal_begins_the_whole_time_anew(leases: Leases, clock: Clock):
    leases.open(RUN, 1)
    for _ in range(5):
        leases.grant(RUN, 1)
        clock.now += TERMS.whole_s - 1
        assert not leases.has_lapsed(RUN, 1)


def test_a_worker_that_ended_by_its_agents_word_is_not_waited_for(leases: Leases):
    leases.open(RUN, 1)
    leases.grant(RUN, 1)
    leases.release(RUN, 1)
    leases.open(RUN, 2)


def test_a_later_daemon_waits_as_if_the_lease_had_just_been_granted(clock: Clock):
    later = Leases(TERMS, clock)
    later.adopt(RUN, 7)
    assert later.was_granted(RUN, 7)
    clock.now += TERMS.whole_s - 0.1
    assert not later.has_lapsed(RUN, 7)
    clock.now += 0.1
    assert later.has_lapsed(RUN, 7)
    # What is adopted twice does not begin again.
    later.adopt(RUN, 7)
    assert later.has_lapsed(RUN, 7)


def test_older_starts_unknown_runs_and_starts_of_the_future_are_refused(leases: Leases):
    leases.open(RUN, 3)
    for epoch in (1, 2, 4):
        with pytest.raises(OldStart):
            leases.check(RUN, epoch)
    with pytest.raises(OldStart, match="not known here"):
        leases.check("01K9CG05J5Y0FFQMT1T920EZK3", 1)
    with pytest.raises(OldStart, match="not newer"):
        leases.open(RUN, 3)


class Node:
    """An agent's own view of its lease: counted from the moment in which it asked."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.until = 0.0

    def may_work(self, now: float) -> bool:
        return now < self.until + TERMS.grace_s


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "follow", "daemon dies", "wait"]),
            st.floats(0, 70),
            st.floats(0, 20),
            st.integers(0, 9),
        ),
        max_size=60,
    )
)
def test_whatever_happens_two_starts_are_never_at_work_together(history: list[tuple[str, float, float, int]]):
    """Answers take a while, daemons die and forget, agents of all starts go on asking."""
    clock = Clock()
    leases, epoch = Leases(TERMS, clock), 1
    leases.open(RUN, epoch)
    nodes = [Node(1)]
    for what, wait_s, answer_s, which in history:
        clock.now += wait_s
        if what == "ask":
            node = nodes[which % len(nodes)]
            asked_at = clock.now
            clock.now += answer_s
            try:
                leases.grant(RUN, node.epoch)
            except OldStart:
                continue
            node.until = max(node.until, asked_at + TERMS.lease_s)
        elif what == "follow" and leases.has_lapsed(RUN, epoch):
            epoch += 1
            leases.open(RUN, epoch)
            nodes.append(Node(epoch))
        elif what == "daemon dies":
            leases = Leases(TERMS, clock)
            leases.adopt(RUN, epoch)
        assert sum(node.may_work(clock.now) for node in nodes) <= 1
