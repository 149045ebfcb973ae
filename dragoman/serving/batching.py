"""The queue before a model: texts of many requests, translated together."""

import asyncio
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from dragoman.search.decoding import Deadline
from dragoman.translation.lexical import UNCONSTRAINED, LexicalConstraints

Found = TypeVar("Found")
Work: TypeAlias = Literal["translate", "score", "explain"]

WAIT = 0.004  # seconds that an idle model waits for other requests that come at the same time
SECONDS = 0.2  # that a batch should take: so long, and no longer, do others wait for the next
MOST = 128  # texts of a batch
FIRST_RATE = 2000.0  # characters a second, until it has been measured
OVERHEAD = 10  # characters: what a text costs beside its own
COSTS: dict[Work, int] = {"translate": 1, "score": 1, "explain": 8}  # how long each takes beside the others
SHORT = 0.05  # of the characters that may wait: a request that has no more is a short one


class BusyError(Exception):
    """The queue is full, or a request was not answered in time."""


class SharedOptions(NamedTuple):
    """How texts are translated: what `Translator.translate` takes for all texts alike. `diverse`: the first words of
    several translations differ. `work`: whether texts are translated, or given translations scored or explained.
    `remembered`: whether the translations may be kept for others who ask the same.
    """

    to: str | None = None
    n_best: int = 1
    constraints: LexicalConstraints = UNCONSTRAINED
    diverse: bool = False
    work: Work = "translate"
    remembered: bool = True

    def size(self, item: "Item") -> int:
        """Characters, which tell about how long a text takes."""
        return COSTS[self.work] * item.size


class Item(NamedTuple):
    """A text, or one for each source, and how its translation begins; or, where that is given, its translation, and
    another one that is compared with it.
    """

    text: str | tuple[str, ...]
    prefix: str = ""
    translation: str | None = None
    contrast: str | None = None

    @property
    def size(self) -> int:
        """Characters of the text and of translations that are given with it, and what it costs beside its own."""
        texts = (self.text,) if isinstance(self.text, str) else self.text
        return OVERHEAD + sum(map(len, (*texts, self.translation or "", self.contrast or "")))


@dataclass
class _Room:
    """Room for requests that wait: for so many characters, or for one request of any size."""

    most: int
    size: int = 0

    def holds(self, size: int) -> bool:
        return not self.size or self.size + size <= self.most


class _Request(Generic[Found]):
    """Texts of one request, of which some may have been taken to be translated. Those that are left take up room."""

    def __init__(self, items: Sequence[Item], options: SharedOptions, room: _Room) -> None:
        self.options = options
        self.left = deque(enumerate(items))
        self._room = room
        room.size += sum(map(options.size, items))
        self.found: dict[int, Found] = {}
        self.count = len(items)
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self) -> tuple[int, Item]:
        """The next text and its place."""
        place, item = self.left.popleft()
        self._room.size -= self.options.size(item)
        return place, item

    def drop(self) -> None:
        """Give up what is left."""
        while self.left:
            self.take()

    def fail(self, error: Exception) -> None:
        self.drop()
        if not self.answer.done():
            self.answer.set_exception(error)

    def put(self, place: int, found: Found) -> None:
        self.found[place] = found
        if not self.answer.done() and len(self.found) == self.count:
            self.answer.set_result(None)


@dataclass(frozen=True)
class _Taken(Generic[Found]):
    request: _Request[Found]
    place: int
    item: Item


class Batcher(Generic[Found]):
    """A search in a thread of its own, and the requests that wait for it.

    A batch has texts of all requests with the same options, in turns, so that a long request delays a short one by a
    batch at most. How many is measured: batches take about SECONDS. So many characters (`waiting`) of long requests may
    wait, and as many of short ones, which long ones thus never crowd out.
    """

    def __init__(
        self, search: Callable[[Sequence[Item], SharedOptions, Deadline], Sequence[Found]], *, waiting: int = 200_000
    ) -> None:
        self._search = search
        self._short = int(SHORT * waiting)
        self._rooms = {short: _Room(waiting) for short in (True, False)}
        self.rates: defaultdict[Work, float] = defaultdict(lambda: FIRST_RATE)  # characters a second
        self._queue: deque[_Request[Found]] = deque()
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="translator")
        self._work: asyncio.Task[None] | None = None
        self._taken: list[_Taken[Found]] = []  # the last batch, which is searched in parts if it fails
        self._running: tuple[list[_Taken[Found]], Deadline] = ([], Deadline())
        self._stopped = False

    @property
    def size(self) -> int:
        """How many characters wait."""
        return sum(room.size for room in self._rooms.values())

    async def translate(self, items: Sequence[Item], options: SharedOptions, seconds: float) -> list[Found]:
        """Translate texts. BusyError if too many wait, or if it takes longer than so many seconds (of which there may
        be none left); UserError if they cannot be translated so. If this is cancelled, they are taken out of the queue,
        and out of the search if nothing else is in their batch.
        """
        if not items:
            return []
        if self._stopped:
            raise BusyError("the service is stopping")
        size = sum(map(options.size, items))
        room = self._rooms[size <= self._short]
        if not room.holds(size):
            raise BusyError("too many texts are waiting")
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run())
        request = _Request[Found](items, options, room)
        self._queue.append(request)
        self._arrived.set()
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                await request.answer
        except TimeoutError:
            raise BusyError("not translated in time") from None
        finally:
            self._forget(request)
        return [request.found[place] for place in range(request.count)]

    def stop(self) -> None:
        """Answer the requests that wait, and all that come, with BusyError."""
        self._stopped = True
        for request in [*self._queue, *(each.request for each in self._taken)]:
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

    def _forget(self, request: _Request[Found]) -> None:
        """Drop what is left of a request, and stop the search if nobody waits for it any more."""
        request.drop()
        if request in self._queue:
            self._queue.remove(request)
        if not request.answer.done():
            request.answer.cancel()
        taken, deadline = self._running
        if taken and all(each.request.answer.done() for each in taken):
            deadline.cancel()

    async def _run(self) -> None:
        while True:  # until it is cancelled
            if not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
                await asyncio.sleep(WAIT)
            self._taken = self._take()
            if self._taken:
                await self._translated(self._taken)

    def _take(self) -> list[_Taken[Found]]:
        """Take the texts of the next batch, one of each request in turns."""
        self._queue = deque(each for each in self._queue if each.left)  # a request that has failed has none
        if not self._queue:
            return []
        options = self._queue[0].options
        requests = deque(each for each in self._queue if each.options == options)
        taken, size = list[_Taken[Found]](), 0
        while requests and len(taken) < MOST and (not taken or size < self.rates[options.work] * SECONDS):
            request = requests.popleft()
            place, item = request.take()
            taken.append(_Taken(request, place, item))
            size += options.size(item)
            if request.left:
                requests.append(request)
        first = {id(each.request) for each in taken}
        waiting = sorted((each for each in self._queue if each.left), key=lambda each: id(each) in first)
        self._queue = deque(waiting)  # those that had a turn come after those that had none
        return taken

    async def _translated(self, taken: list[_Taken[Found]]) -> None:
        deadline, began = Deadline(), time.monotonic()
        self._running = taken, deadline
        options = taken[0].request.options
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._search, [each.item for each in taken], options, deadline
            )
        except Exception as error:
            if len(taken) == 1 or deadline.passed:
                for each in taken:
                    each.request.fail(error)
            else:  # one text may be at fault
                middle = len(taken) // 2
                for part in (taken[:middle], taken[middle:]):
                    if waiting := [each for each in part if not each.request.answer.done()]:
                        await self._translated(waiting)
            return
        finally:
            self._running = [], deadline
        self._measure(options.work, sum(options.size(each.item) for each in taken), time.monotonic() - began)
        for each, one in zip(taken, found, strict=True):
            each.request.put(each.place, one)

    def _measure(self, work: Work, size: int, seconds: float) -> None:
        """Keep the rate of a task up to date: a mean in which the last batches count most."""
        self.rates[work] += (size / max(seconds, 1e-3) - self.rates[work]) / 4
