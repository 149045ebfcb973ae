"""What a service tells of itself to Prometheus (extra `serve`)."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.serving.models import ServedModel
from dragoman.version import __version__

KIND = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Requests, their seconds, those that are being answered, characters translated; the version and the process; and
    what is measured of each model (`watch`). Buckets of seconds reach those that a request may take.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self._all = CollectorRegistry()
        buckets = (*(bound for bound in SECONDS if bound < seconds), seconds)
        self.requests = Counter("dragoman_requests", "Requests", ["path", "status"], registry=self._all)
        self.seconds = Histogram(
            "dragoman_request_seconds", "Request duration in seconds", ["path"], buckets=buckets, registry=self._all
        )
        self.in_flight = Gauge("dragoman_requests_in_flight", "Requests in progress", registry=self._all)
        self.characters = Counter(
            "dragoman_characters", "Characters translated", ["source", "target"], registry=self._all
        )
        Info("dragoman", "The version", registry=self._all).info({"version": __version__})
        ProcessCollector(registry=self._all)

    def watch(self, models: Callable[[], Iterable[ServedModel]]) -> None:
        """Measure these models, too, whichever there are when it is asked."""
        self._all.register(ModelCollector(models))

    def answered(self, path: str, status: int, seconds: float) -> None:
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)

    def translated(self, source: str, target: str, characters: int) -> None:
        self.characters.labels(source, target).inc(characters)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._all)


class ModelCollector(Collector):
    """The queues, batches and caches of models."""

    def __init__(self, models: Callable[[], Iterable[ServedModel]]) -> None:
        self._models = models

    def collect(self) -> Iterator[Metric]:
        models, labels = list(self._models()), ["model"]
        gauges: dict[str, tuple[str, Callable[[ServedModel], float]]] = {
            "waiting_symbols": ("Tokens waiting in the queue", lambda model: model.batcher.size),
            "batch_in_flight_texts": ("Texts in the current batch", lambda model: model.batcher.running),
            "cache_bytes": ("Size of the translation cache in bytes", lambda model: model.cache.bytes),
            "cache_entries": ("Translations in the cache", lambda model: len(model.cache)),
        }
        counters: dict[str, tuple[str, Callable[[ServedModel], float]]] = {
            "cache_hits": ("Cache hits", lambda model: model.cache.hits),
            "cache_misses": ("Cache misses", lambda model: model.cache.misses),
        }
        for kind, families in ((GaugeMetricFamily, gauges), (CounterMetricFamily, counters)):
            for name, (description, value) in families.items():
                family = kind(f"dragoman_{name}", description, labels=labels)
                for model in models:
                    family.add_metric([model.name], value(model))
                yield family
        batches = HistogramMetricFamily("dragoman_batch_texts", "Batch size in texts", labels=labels)
        for model in models:
            sizes = model.batcher.sizes
            buckets = [(f"{most}", sum(count for size, count in sizes.items() if size <= most)) for most in TEXTS]
            total = sum(size * count for size, count in sizes.items())
            batches.add_metric([model.name], [*buckets, ("+Inf", sizes.total())], sum_value=total)
        yield batches
