"""The retry budget: the pure bucket, and what it does to the load of a provider in trouble."""

from __future__ import annotations

import math

import pytest

import headwater
from engine.upstream import Answer, error_body, good, request, run
from headwater.budget import RetryBudget
from headwater.retry import Retry
from headwater.stream import Topology

QUICK = Retry(base=0.0)


def down() -> Answer:
    """A refusal that may be tried again."""
    return Answer(error_body("down"), status=503)


def test_it_is_full_at_first_and_runs_empty() -> None:
    """So many retries, then none."""
    budget = RetryBudget(retries=3)
    assert [budget.take() for _ in range(5)] == [True, True, True, False, False]
    assert budget.left == 0


def test_answers_fill_it_by_parts() -> None:
    """Ten answers pay for one retry, and it never holds more than at first."""
    budget = RetryBudget(retries=1, per_answer=0.1)
    assert budget.take()
    for _ in range(9):
        budget.give_back()
        assert not budget.take()
    budget.give_back()
    assert budget.take()
    for _ in range(100):
        budget.give_back()
    assert budget.left == 1


def test_no_bound() -> None:
    """An infinite budget stays infinite."""
    budget = RetryBudget(retries=math.inf)
    assert all(budget.take() for _ in range(1000))
    budget.give_back()
    assert budget.left == math.inf


@pytest.mark.parametrize("field", ["retries", "per_answer"])
@pytest.mark.parametrize("value", [-1, math.nan])
def test_settings_are_checked(field: str, value: float) -> None:
    """A number that makes no sense is named."""
    with pytest.raises(headwater.ConfigurationError, match=rf"RetryBudget\.{field} is"):
        RetryBudget(**{field: value})


@pytest.mark.anyio
async def test_a_storm_is_bounded(topology: Topology) -> None:
    """Ten streams at a dead provider: ten requests and the four retries that the budget has, not thirty requests."""
    answers = [down() for _ in range(14)]
    async with run(*answers, retry=QUICK, topology=topology, retry_budget=RetryBudget(retries=4)) as (engine, upstream):
        responses = [await engine.generate(request(), raise_on_error=False) for _ in range(10)]
    assert len(upstream.requests) == 14
    assert [response.attempts for response in responses] == [3, 3, 1, 1, 1, 1, 1, 1, 1, 1]
    assert {response.error.kind for response in responses if response.error is not None} == {"overloaded"}


@pytest.mark.anyio
async def test_good_answers_pay_for_retries(topology: Topology) -> None:
    """With an empty budget two answers buy the next retry, where each gives half of one."""
    budget = RetryBudget(retries=1, per_answer=0.5)
    answers = [down(), down(), Answer(good("a")), Answer(good("b")), down(), Answer(good("c"))]
    async with run(*answers, retry=QUICK, topology=topology, retry_budget=budget) as (engine, _):
        responses = [await engine.generate(request(), raise_on_error=False) for _ in range(4)]
    assert [(response.text, response.attempts) for response in responses] == [("", 2), ("a", 1), ("b", 1), ("c", 2)]
    assert budget.left == 0.5


@pytest.mark.anyio
async def test_failures_do_not_fill_it(topology: Topology) -> None:
    """Only an answer that ended well gives something back."""
    budget = RetryBudget(retries=2, per_answer=1)
    async with run(*[Answer(error_body("no"), status=400)] * 1, topology=topology, retry_budget=budget) as (engine, _):
        assert budget.take()
        await engine.generate(request(), raise_on_error=False)
    assert budget.left == 1
