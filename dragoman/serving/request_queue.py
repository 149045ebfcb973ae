"""The queue before a model: texts of many requests, translated together."""

import asyncio
import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from dragoman.search.decoding import Deadline
from dragoman.serving.batch_time import BatchTime
from dragoman.serving.request_options import RequestOptions, TranslationItem, Work

Found = TypeVar("Found")

WAIT = 0.004  # seconds that an idle model waits for other requests that come at the same time
RETURN = 0.05  # of the time of a batch: how long clients that it has answered may take to come back for the next one
SECONDS = 0.2  # that the texts of a batch take beside its overhead, unless fewer would cost throughput
FIRST_TURNS = 0.5  # the same for the first text of each request
MOST = 128  # texts of a batch
OVERHEAD = 3  # symbols: what a text costs beside its own
COSTS: dict[Work, int] = {"translate": 1, "score": 1, "explain": 8}  # how long each takes beside the others
SHORT = 0.05  # of the symbols that may wait: a request that has no more is a short one
WAITING = 60_000  # symbols that may wait
AT_ONCE = 2_000  # characters that are measured in the thread that answers; more are measured in another
LATEST = 600  # seconds after which clients are asked to try again at the latest


class BusyError(Exception):
    """The queue is full, or a request was not answered in time; it may be worth another try after some seconds."""

    def __init__(self, line: str, retry_after: int = 1) -> None:
        super().__init__(line)
        self.retry_after = retry_after


@dataclass
class _Capacity:
    """Capacity for requests that wait: for so many symbols, or for one request of any size."""

    most: int
    size: int = 0

    def holds(self, size: int) -> bool:
        return not self.size or self.size + size <= self.most


class _QueuedText(NamedTuple):
    """A text of a request that is to be translated."""

    request: "_Request[Any]"
    place: int
    item: TranslationItem
    size: int


class _Request(Generic[Found]):
    """Texts of one request, of which some may have been taken to be translated. Those that are left take up room."""

    def __init__(
        self, items: Sequence[TranslationItem], sizes: Sequence[int], options: RequestOptions, capacity: _Capacity
    ) -> None:
        self.options = options
        self.left = deque(
            _QueuedText(self, place, item, size) for place, (item, size) in enumerate(zip(items, sizes, strict=True))
        )
        self._capacity = capacity
        capacity.size += sum(sizes)
        self.results: dict[int, Found] = {}
        self.count = len(items)
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def next_size(self) -> int:
        """The size of the next text."""
        return self.left[0].size

    def take(self) -> _QueuedText:
        """The next text."""
        taken = self.left.popleft()
        self._capacity.size -= taken.size
        return taken

    def drop(self) -> None:
        """Give up what is left."""
        while self.left:
            self.take()

    def fail(self, error: Exception) -> None:
        self.drop()
        if not self.answer.done():
            self.answer.set_exception(error)

    def put(self, place: int, result: Found) -> None:
        self.results[place] = result
        if not self.answer.done() and len(self.results) == self.count:
            self.answer.set_result(None)


class Batcher(Generic[Found]):
    """A search in a thread of its own, and the requests that wait for it.

    A batch has texts of all requests with the same options, in turns. How long batches of how many symbols take is
    learned (`BatchTime`). The first text of each request goes into a batch as long as that raises the throughput
    noticeably; further ones only until it takes SECONDS, or as long as the overhead of a batch. So many clients do not
    wait for small batches, and short requests for no more than one batch with a text of a long one. So many symbols
    (`waiting`) of long requests may wait, and as many of short ones, which long ones thus never crowd out. `measure`
    tells the symbols of a text.
    """

    def __init__(
        self,
        search: Callable[[Sequence[TranslationItem], RequestOptions, Deadline], Sequence[Found]],
        *,
        waiting: int = WAITING,
        measure: Callable[[TranslationItem], int] = attrgetter("characters"),
    ) -> None:
        self._search = search
        self._measure = measure
        self._short = int(SHORT * waiting)
        self._capacities = {short: _Capacity(waiting) for short in (True, False)}
        self.times: defaultdict[Hashable, BatchTime] = defaultdict(BatchTime)  # by `RequestOptions.timed`
        self._queue: deque[_Request[Found]] = deque()
        self._arrived = asyncio.Event()
        self._arrivals = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="translator")
        self._work: asyncio.Task[None] | None = None
        self._taken: list[_QueuedText] = []  # the last batch, which is searched in parts if it fails
        self._running: tuple[list[_QueuedText], Deadline] = ([], Deadline())
        self._heavy = False  # whether the first text of the last batch took longer than others should wait
        self._stopped = False
        self.sizes = Counter[int]()  # how many batches had so many texts

    @property
    def running(self) -> int:
        """How many texts are being translated."""
        return len(self._running[0])

    @property
    def size(self) -> int:
        """How many symbols wait."""
        return sum(capacity.size for capacity in self._capacities.values())

    async def translate(self, items: Sequence[TranslationItem], options: RequestOptions, seconds: float) -> list[Found]:
        """Translate texts. BusyError if too many wait, or if it takes longer than so many seconds (of which there may
        be none left); UserError if they cannot be translated so. If this is cancelled, they are taken out of the queue,
        and out of the search if nothing else is in their batch.
        """
        if not items:
            return []
        sizes = await self._sizes(items, options)
        if self._stopped:
            raise BusyError("the service is stopping")
        capacity = self._capacities[sum(sizes) <= self._short]
        if not capacity.holds(sum(sizes)):
            raise BusyError("too many texts are waiting", self._retry_after(options))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run())
        request = _Request[Found](items, sizes, options, capacity)
        self._queue.append(request)
        self._arrivals += 1
        self._arrived.set()
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                await request.answer
        except TimeoutError:
            raise BusyError("not translated in time", self._retry_after(options)) from None
        finally:
            self._forget(request)
        return [request.results[place] for place in range(request.count)]

    def stop(self) -> None:
        """Answer the requests that wait, and all that come, with BusyError."""
        self._stopped = True
        for request in [*self._queue, *(taken.request for taken in self._taken)]:
            request.fail(BusyError("the service is stopping"))
        self._running[1].cancel()

    async def close(self) -> None:
        """Stop, and wait for the end of the search."""
        self.stop()
        if self._work:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
        self._thread.shutdown()

    async def _sizes(self, items: Sequence[TranslationItem], options: RequestOptions) -> list[int]:
        """The symbols of texts, with what each costs beside its own. Many are measured in another thread."""

        def measured() -> list[int]:
            return [COSTS[options.work] * (OVERHEAD + self._measure(item)) for item in items]

        if sum(item.characters for item in items) <= AT_ONCE:
            return measured()
        return await asyncio.to_thread(measured)

    def _retry_after(self, options: RequestOptions) -> int:
        """The seconds after which what waits now is translated."""
        time_of, size = self.times[options.timed], self.size + sum(taken.size for taken in self._running[0])
        batches = size / max(1.0, time_of.within(SECONDS))
        return min(LATEST, max(1, math.ceil(size * time_of.rate + batches * time_of.overhead)))

    def _forget(self, request: _Request[Found]) -> None:
        """Drop what is left of a request, and stop the search if nobody waits for it any more."""
        request.drop()
        if request in self._queue:
            self._queue.remove(request)
        if not request.answer.done():
            request.answer.cancel()
        taken, deadline = self._running
        if taken and all(text.request.answer.done() for text in taken):
            deadline.cancel()

    async def _run(self) -> None:
        while True:  # until it is cancelled
            if not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
                await asyncio.sleep(WAIT)
            self._taken = self._take()
            if self._taken:
                began, before = time.monotonic(), self._arrivals
                await self._translated(self._taken)
                answered = sum(not request.left for request in {text.request for text in self._taken})
                if self._queue:
                    await self._return(answered - (self._arrivals - before), RETURN * (time.monotonic() - began))

    async def _return(self, count: int, seconds: float) -> None:
        """Wait for so many requests, but only so many seconds. Otherwise clients that send one text after another would
        fall into two groups, each of which is translated while the other comes back, in batches of half the size.
        """
        wanted = self._arrivals + count
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._arrivals < wanted:
                    self._arrived.clear()
                    await self._arrived.wait()

    def _take(self) -> list[_QueuedText]:
        """Take the texts of the next batch: one of each request in turns, the longest without a turn first."""
        self._queue = deque(request for request in self._queue if request.left)  # one that has failed has none
        if not self._queue:
            return []
        leader = self._leader()
        requests = [
            leader,
            *(other for other in self._queue if other.options == leader.options and other is not leader),
        ]
        time_of = self.times[leader.options.timed]
        usual = time_of.within(SECONDS)
        most = max(time_of.within(FIRST_TURNS), time_of.efficient(sum(request.next_size for request in requests)))
        taken = [leader.take()]
        size, light = taken[0].size, SECONDS / time_of.rate
        longest = light if self._heavy and size <= light else math.inf
        self._heavy = size > light
        turns, again = deque(requests[1:]), deque([leader] if leader.left else ())
        while (turns or again) and len(taken) < MOST:
            if not turns:  # each has had a turn
                turns, again, most = again, deque(), usual
            request = turns.popleft()
            if size + request.next_size / 2 <= most and request.next_size <= longest:
                taken.append(request.take())
                size += taken[-1].size
                again.extend([request] if request.left else ())
        first = {id(text.request) for text in taken}
        waiting = (request for request in self._queue if request.left)
        self._queue = deque(sorted(waiting, key=lambda request: id(request) in first))
        return taken

    def _leader(self) -> _Request[Found]:
        """The request whose text is taken first, whatever its size: the one that has waited longest. After a batch with
        a text that took longer than others should wait, it is the first with a shorter text.
        """
        if self._heavy:
            for request in self._queue:
                if self.times[request.options.timed].rate * request.next_size <= SECONDS:
                    return request
        return self._queue[0]

    async def _translated(self, taken: list[_QueuedText]) -> None:
        deadline, began = Deadline(), time.monotonic()
        self._running = taken, deadline
        self.sizes[len(taken)] += 1
        options, size = taken[0].request.options, sum(text.size for text in taken)
        time_of = self.times[options.timed]
        try:
            results = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._search, [text.item for text in taken], options, deadline
            )
        except Exception as error:
            if deadline.passed and (seconds := time.monotonic() - began) > time_of.seconds(size):
                time_of.learn(size, seconds)  # it would have taken longer still
            if len(taken) == 1 or deadline.passed:
                for text in taken:
                    text.request.fail(error)
            else:  # one text may be at fault
                middle = len(taken) // 2
                for part in (taken[:middle], taken[middle:]):
                    if waiting := [entry for entry in part if not entry.request.answer.done()]:
                        await self._translated(waiting)
            return
        finally:
            self._running = [], deadline
        time_of.learn(size, time.monotonic() - began)
        for entry, one in zip(taken, results, strict=True):
            entry.request.put(entry.place, one)
