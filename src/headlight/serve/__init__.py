"""The app: texts are typed in a browser, a model reads them on this machine, the view shows them.

`make_app` makes it as an ASGI application, and `serve` runs it. What the browser may ask a model
for is the table of `headlight.serve.functions`.
"""

from headlight.serve.app import make_app
from headlight.serve.server import serve

__all__ = ["make_app", "serve"]
