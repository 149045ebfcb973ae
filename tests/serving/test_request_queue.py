"""The queue before a model."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.search.decoding import Deadline
from dragoman.serving import request_queue
from dragoman.serving.request_options import RequestOptions, TranslationItem
from dragoman.serving.request_queue import Batcher, BusyError


class Shouting:
    """A search that writes capitals, tells its batches, and takes its time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.batches: list[list[str]] = []
        self.threads: set[int] = set()
        self.stopped = 0
        self.hold = threading.Event()
        self.hold.set()

    def __call__(self, items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline) -> list[str]:
        texts = [str(item.text) for item in items]
        self.batches.append(texts)
        self.threads.add(threading.get_ident())
        if "broken" in texts:
            raise RuntimeError("a bug")
        if "bad" in texts:
            raise UserError("bad text")
        end = time.monotonic() + self.seconds
        while time.monotonic() < end or not self.hold.wait(0.002):
            self.stopped += deadline.passed
            deadline.check()
            time.sleep(0.001)
        return [item.prefix + text.upper() for item, text in zip(items, texts, strict=True)]


def items(*texts: str) -> list[TranslationItem]:
    return [TranslationItem(text) for text in texts]


def run(test: Any) -> Any:
    return asyncio.run(asyncio.wait_for(test, 20))


def test_requests_share_batches_and_get_their_own_answers() -> None:
    model = Shouting(0.01)

    async def test() -> None:
        batcher = Batcher(model)
        requests = (batcher.translate(items(f"a{n}", f"b{n}"), RequestOptions(), 10.0) for n in range(20))
        assert await asyncio.gather(*requests) == [[f"A{n}", f"B{n}"] for n in range(20)]
        assert await batcher.translate([TranslationItem("x", "y")], RequestOptions(), 10.0) == ["yX"]
        assert await batcher.translate([], RequestOptions(), 10.0) == []
        await batcher.close()

    run(test())
    assert len(model.batches[0]) > 1
    assert len(model.batches) < 10
    assert len(model.threads) == 1


@pytest.mark.slow
def test_a_long_request_does_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "MOST", 2)
    model = Shouting(0.005)

    async def test() -> None:
        batcher = Batcher(model)
        long = asyncio.create_task(batcher.translate(items(*["x" * 50] * 600), RequestOptions(), 15.0))
        await asyncio.sleep(0.05)
        before = len(model.batches)
        await batcher.translate(items("short"), RequestOptions(), 10.0)
        assert len(model.batches) - before < 10  # of 300
        assert not long.done()
        assert len(await long) == 600
        await batcher.close()

    run(test())


def test_other_options_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "MOST", 2)
    model = Shouting(0.005)

    async def test() -> None:
        batcher = Batcher(model)
        requests = [
            batcher.translate(items(*[f"{n}" + "x" * 100] * 10), RequestOptions(alternatives=n), 10.0) for n in (1, 2)
        ]
        await asyncio.gather(*requests)
        await batcher.close()

    run(test())
    assert all(len({text[0] for text in batch}) == 1 for batch in model.batches)
    firsts = [batch[0][0] for batch in model.batches]
    assert firsts == ["1", "2"] * (len(firsts) // 2)


def test_a_bad_text_fails_alone_and_the_queue_goes_on() -> None:
    model = Shouting(0.01)

    async def test() -> list[Any]:
        batcher = Batcher(model)
        requests = [batcher.translate(items(text), RequestOptions(), 10.0) for text in ("one", "bad", "broken", "two")]
        answers = await asyncio.gather(*requests, return_exceptions=True)
        after = await batcher.translate(items("after"), RequestOptions(), 10.0)
        await batcher.close()
        return [*answers, after]

    one, bad, broken, two, after = run(test())
    assert (one, two, after) == (["ONE"], ["TWO"], ["AFTER"])
    assert isinstance(bad, UserError)
    assert isinstance(broken, RuntimeError)


@pytest.mark.parametrize("word", ["bad", "broken"])
def test_a_request_that_fails_while_more_of_it_waits_does_not_stop_the_queue(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_queue, "MOST", 1)

    async def test() -> None:
        batcher = Batcher(Shouting())
        with pytest.raises((UserError, RuntimeError)):
            await batcher.translate(items(word, "never", "asked"), RequestOptions(), 10.0)
        assert await batcher.translate(items("next"), RequestOptions(), 10.0) == ["NEXT"]
        assert batcher.size == 0
        await batcher.close()

    run(test())


def test_those_that_are_tried_in_parts_are_answered_when_the_service_stops() -> None:
    class Hanging(Shouting):
        def __call__(self, items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline) -> list[str]:
            if "bad" not in [item.text for item in items]:
                self.hold.clear()  # until the deadline is cancelled
            return super().__call__(items, options, deadline)

    async def test() -> list[Any]:
        batcher = Batcher(Hanging())
        texts = ("one", "two", "three", "bad", "four", "five")
        requests = [asyncio.create_task(batcher.translate(items(text), RequestOptions(), 10.0)) for text in texts]
        while not batcher._search.batches[1:]:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        await batcher.close()
        return await asyncio.gather(*requests, return_exceptions=True)

    assert all(isinstance(error, BusyError) for error in run(test()))


def test_time_runs_out_in_the_queue_and_in_the_search() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model)
        errors = await asyncio.gather(
            *(
                batcher.translate(items(text), RequestOptions(alternatives=n), 0.1)
                for n, text in enumerate("ab", start=1)
            ),
            return_exceptions=True,
        )
        assert [type(error) for error in errors] == [BusyError, BusyError]
        assert model.batches == [["a"]]  # and was stopped, as this would wait for ever
        model.hold.set()
        assert await batcher.translate(items("c"), RequestOptions(), 10.0) == ["C"]
        await batcher.close()

    run(test())


def test_a_client_that_leaves_stops_its_search_unless_another_is_in_the_batch() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model)
        tasks = [asyncio.create_task(batcher.translate(items(text), RequestOptions(), 10.0)) for text in "ab"]
        await asyncio.sleep(0.05)
        tasks[0].cancel()
        await asyncio.sleep(0.05)
        assert not tasks[1].done()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(500):  # a search that nobody waits for ends, though it would hold for ever
            await asyncio.sleep(0 if model.stopped else 0.01)
        model.hold.set()
        assert model.stopped
        assert await batcher.translate(items("c"), RequestOptions(), 10.0) == ["C"]
        await batcher.close()

    run(test())
    assert model.batches == [["a", "b"], ["c"]]


def test_a_full_queue_refuses_but_takes_one_request_of_any_size() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model, waiting=100)
        tasks = [asyncio.create_task(batcher.translate(items(text * 300), RequestOptions(), 10.0)) for text in "abc"]
        await asyncio.sleep(0)
        assert batcher.size == 303
        errors = await asyncio.gather(*tasks[1:], return_exceptions=True)
        assert [type(error) for error in errors] == [BusyError, BusyError]
        while batcher.size:  # until the first is being translated, and does not wait
            await asyncio.sleep(0)
        second = asyncio.create_task(batcher.translate(items("y"), RequestOptions(), 10.0))
        model.hold.set()
        assert await asyncio.gather(tasks[0], second) == [["A" * 300], ["Y"]]
        await batcher.close()

    run(test())


def test_long_requests_do_not_crowd_out_short_ones_which_have_a_limit_of_their_own() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model, waiting=1_000)
        long = asyncio.create_task(batcher.translate(items(*["x" * 40] * 100), RequestOptions(), 10.0))
        await asyncio.sleep(0.02)
        with pytest.raises(BusyError):
            await batcher.translate(items("z" * 400), RequestOptions(), 10.0)
        short = [asyncio.create_task(batcher.translate(items("y" * 30), RequestOptions(), 10.0)) for _ in range(31)]
        await asyncio.sleep(0.02)
        assert [task.done() for task in short] == [False] * 30 + [True]
        model.hold.set()
        answers = await asyncio.gather(long, *short, return_exceptions=True)
        assert isinstance(answers.pop(), BusyError)
        assert answers == [["X" * 40] * 100, *[["Y" * 30]] * 30]
        assert batcher.size == 0
        await batcher.close()

    run(test())


def test_a_full_queue_does_not_refuse_what_needs_no_search() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model, waiting=10)
        tasks = [
            asyncio.create_task(batcher.translate(items("a"), RequestOptions(alternatives=n), 10.0)) for n in (1, 2)
        ]
        await asyncio.sleep(0.02)
        assert await batcher.translate([], RequestOptions(), 10.0) == []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert batcher.size == 0
        await batcher.close()

    run(test())


def test_closing_answers_those_that_wait() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model)
        tasks = [
            asyncio.create_task(batcher.translate(items("a"), RequestOptions(alternatives=n), 10.0)) for n in (1, 2)
        ]
        await asyncio.sleep(0.05)
        batcher.stop()
        with pytest.raises(BusyError, match="stopping"):
            await batcher.translate(items("b"), RequestOptions(), 10.0)
        await batcher.close()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(error) for error in errors] == [BusyError, BusyError]

    run(test())


def simulated(clients: int, overhead: float, per_text: float, seconds: float) -> tuple[float, list[int]]:
    """Answers a second for so many clients with one text at a time, once three batches have been measured, and the
    sizes of batches, of a search that takes `overhead` and `per_text` seconds for every text.
    """
    sizes, ends = list[int](), list[float]()

    def search(items: Sequence[TranslationItem], _: RequestOptions, deadline: Deadline) -> list[str]:
        time.sleep(overhead + per_text * len(items))
        sizes.append(len(items))
        ends.append(time.monotonic())
        return ["x"] * len(items)

    async def test() -> None:
        batcher = Batcher(search, measure=lambda _: 60)
        end = time.monotonic() + seconds

        async def client() -> None:
            while time.monotonic() < end:
                await batcher.translate(items("x" * 240), RequestOptions(), 100.0)

        await asyncio.gather(*(client() for _ in range(clients)))
        await batcher.close()

    run(test())
    last = sum(end < ends[0] + seconds - 1 for end in ends)  # then clients end
    return sum(sizes[3:last]) / (ends[last - 1] - ends[2]), sizes


@pytest.mark.slow
def test_many_clients_have_the_throughput_of_one_batch_of_all() -> None:
    rates: list[float] = []
    while len(rates) < 3 and max(rates, default=0) < 70:  # again, as the machine may be busy with something else
        rates.append(simulated(32, 0.25, 0.005, 6.0)[0])
    assert max(rates) >= 70, rates  # 32 / 0.41 s = 78 at most


@pytest.mark.slow
def test_on_a_slow_core_batches_do_not_shrink() -> None:
    _, sizes = simulated(16, 0.2, 0.05, 6.0)
    assert min(sizes[5:-2]) >= 8, sizes


@pytest.mark.slow
def test_a_text_that_takes_long_keeps_short_ones_waiting_for_one_batch() -> None:
    """A long request has texts of 500 symbols for characters that the model spells in bytes; short ones come all the
    time.
    """
    finished: list[str] = []

    def search(items: Sequence[TranslationItem], _: RequestOptions, deadline: Deadline) -> list[str]:
        texts = [str(item.text) for item in items]
        time.sleep(sum(0.3 if "long" in text else 0.001 for text in texts))
        finished.append("".join(text[0] for text in texts))
        return texts

    async def test() -> list[float]:
        batcher = Batcher(search, measure=lambda item: 500 if "long" in item.text else 10)
        for symbols, seconds in [(500, 0.3), (10, 0.001)] * 10:
            batcher.times[RequestOptions().timed].learn(symbols, seconds)
        long = asyncio.create_task(batcher.translate(items(*["long"] * 30), RequestOptions(), 100.0))
        waited: list[float] = []

        async def client() -> None:
            for _ in range(6):
                began = time.monotonic()
                await batcher.translate(items("short"), RequestOptions(), 100.0)
                waited.append(time.monotonic() - began)
                await asyncio.sleep(0.02)

        await asyncio.gather(*(client() for _ in range(3)))
        assert not long.done()
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)
        await batcher.close()
        return waited

    waited = run(test())
    assert max(waited) < 0.6, waited
    assert all(texts.count("l") <= 1 for texts in finished), finished
    assert "l" in finished[2:], finished  # and the long one goes on


def test_a_busy_queue_tells_how_long_it_takes() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model, waiting=10_000)
        time_of = batcher.times[RequestOptions().timed]
        for _ in range(100):
            time_of.learn(100, 1.0)
            time_of.learn(1_000, 10.0)
        requests = [asyncio.create_task(batcher.translate(items("x" * 997), RequestOptions(), 100.0)) for _ in range(5)]
        await asyncio.sleep(0.1)
        with pytest.raises(BusyError) as late:
            await batcher.translate(items("y"), RequestOptions(), 0.01)
        with pytest.raises(BusyError) as full:
            await batcher.translate(items("x" * 9_000), RequestOptions(), 0.01)
        for busy in (late, full):
            assert 40 <= busy.value.retry_after <= 70
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await batcher.close()

    run(test())


def test_a_batch_that_is_stopped_tells_that_it_takes_as_long_at_least() -> None:
    model = Shouting()
    model.hold.clear()

    async def test() -> None:
        batcher = Batcher(model)
        before = batcher.times[RequestOptions().timed].seconds(100)
        with pytest.raises(BusyError):
            await batcher.translate(items("x" * 100), RequestOptions(), 0.4)
        while batcher._running[0]:
            await asyncio.sleep(0.01)
        assert batcher.times[RequestOptions().timed].seconds(100) > 1.5 * before
        await batcher.close()

    run(test())


def test_many_texts_are_measured_beside_the_event_loop() -> None:
    threads: set[int] = set()

    def measure(item: TranslationItem) -> int:
        threads.add(threading.get_ident())
        return 1

    async def test() -> None:
        batcher = Batcher(Shouting(), measure=measure)
        await batcher.translate(items("x" * 3_000), RequestOptions(), 10.0)
        assert threading.get_ident() not in threads
        await batcher.translate(items("x"), RequestOptions(), 10.0)
        assert threading.get_ident() in threads
        await batcher.close()

    run(test())
