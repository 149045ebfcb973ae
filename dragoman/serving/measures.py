"""What a service tells of itself to Prometheus (extra `serve`)."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

KIND = "text/plain; version=0.0.4; charset=utf-8"


class Measures:
    """Requests, their seconds, characters translated, and symbols that wait for each model."""

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        self.requests = Counter("dragoman_requests", "Requests", ["path", "status"], registry=self._all)
        self.seconds = Histogram("dragoman_request_seconds", "Seconds of requests", ["path"], registry=self._all)
        self.characters = Counter(
            "dragoman_characters", "Characters translated", ["source", "target"], registry=self._all
        )
        self.waiting = Gauge("dragoman_waiting_symbols", "Symbols that wait", ["model"], registry=self._all)

    def answered(self, path: str, status: int, seconds: float) -> None:
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)

    def translated(self, source: str, target: str, characters: int) -> None:
        self.characters.labels(source, target).inc(characters)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._all)
