"""What the server itself answers, and what goes to the application.

/_armillary/health          whether the server can work; no key
/_armillary/...             a table handed in by whoever builds the application, who also checks keys
/_explorer/emulator.pem     the certificate, for trust stores; no key
everything else             the application
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from armillary.kv.steps import Block, Steps
from armillary.server.certificate import Certificate, export_pem
from armillary.server.health import Health
from armillary.server.service import Application
from armillary.wire.http import Request, Response

__all__ = ["Handler", "Routes"]

Handler: TypeAlias = Callable[[Request], Response | Steps[Response]]

_READS: Final = frozenset((b"GET", b"HEAD"))
_JSON: Final = b"content-type: application/json\r\n"


class Routes:
    """An application with the server's own pages before it."""

    def __init__(
        self, application: Application, admin: Mapping[bytes, Handler], health: Health, certificate: Certificate
    ) -> None:
        self._application = application.handle
        self._certificate = certificate
        self._pages: dict[bytes, Handler] = {
            **admin,
            b"/_armillary/health": _read_only(lambda _: health.report()),
            b"/_explorer/emulator.pem": _read_only(self._show_certificate),
        }

    def handle(self, request: Request) -> Response | Steps[Response]:
        if not request.path.startswith(b"/_"):
            return self._application(request)
        return self._pages.get(request.path.rstrip(b"/"), _refuse_page)(request)

    def _show_certificate(self, _: Request) -> Steps[Response]:
        pair = yield Block(self._certificate.find_pair)
        return Response(200, b"content-type: application/x-pem-file\r\n", export_pem(pair))


def _read_only(handler: Handler) -> Handler:
    def handle(request: Request) -> Response | Steps[Response]:
        if request.method not in _READS:
            head = _JSON + b"allow: GET, HEAD\r\n"
            return Response(405, head, b'{"code":"MethodNotAllowed","message":"This page can only be read"}')
        return handler(request)

    return handle


def _refuse_page(_: Request) -> Response:
    return Response(404, _JSON, b'{"code":"NotFound","message":"This server has no such page"}')
