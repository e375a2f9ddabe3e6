"""The app and its server.

Texts are typed in a browser, a model reads them on this machine, and the view shows them.
`make_app` makes the app as an ASGI application, and `serve` runs it.
"""

from headlight.serve.app import make_app
from headlight.serve.server import serve

__all__ = ["make_app", "serve"]
