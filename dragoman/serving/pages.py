"""The page of the service, and the documentation of its API: files that are read when the service starts."""

import re
from collections.abc import Callable, Iterator
from html import escape
from importlib import resources
from string import Template
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/popover.js": ("popover.js", "text/javascript"),
    "/word.js": ("word.js", "text/javascript"),
    "/files.js": ("files.js", "text/javascript"),
}
DOCUMENTATION = "docs.html"  # a template
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def routes(describe: Callable[[], dict[str, Any]]) -> list[Route]:
    """The page and its parts, and the documentation of the API, by its description (OpenAPI)."""
    page = Template(_read(DOCUMENTATION).decode())

    async def documentation(request: Request) -> Response:
        endpoints = "\n".join(_endpoints(describe()))
        text = page.substitute(address=escape(str(request.base_url)), endpoints=endpoints)
        return Response(text, headers=HEADERS, media_type="text/html")

    return [*(_route(path, name, kind) for path, (name, kind) in FILES.items()), Route("/docs", documentation)]


def _route(path: str, name: str, kind: str) -> Route:
    content = _read(name)

    async def answer(_: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=kind)

    return Route(path, answer)


def _read(name: str) -> bytes:
    return resources.files("dragoman.serving").joinpath("page", name).read_bytes()


def _endpoints(description: dict[str, Any]) -> Iterator[str]:
    """Yield a section for each endpoint: what it does, and its parameters."""
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{_marked(operation.get('description', ''))}</p>"
            bodies: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
            schema: dict[str, Any] = next(iter(bodies.values()), dict[str, Any]()).get("schema", {})
            if "properties" in schema:
                yield from _parameters(schema)


def _parameters(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of a table of parameters."""
    yield "<table><thead><tr><th>Parameter</th><th>Type</th><th>Meaning</th></tr></thead><tbody>"
    for name, value in schema["properties"].items():
        types = " or ".join(kind["type"] for kind in value.get("oneOf", value.get("anyOf", [value])))
        notes = [] if name in schema.get("required", ()) else ["optional"]
        notes += [value["description"]] if "description" in value else []
        notes += ["one of " + ", ".join(value["enum"])] if "enum" in value else []
        cells = f"<code>{escape(name)}</code>", escape(types), _marked("; ".join(notes))
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table>"


def _marked(text: str) -> str:
    """A description as HTML, with code between backquotes."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
