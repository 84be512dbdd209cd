"""Puts the tools of an agent behind a Writ server.

A Writ declares a plan; a Plan guards functions: each call is decided by the server before it runs, and reported after
it. Whatever goes wrong before the call (no answer, an answer that cannot be read, a timeout) is a deny: the function
does not run, and Denied is raised.
"""

from .client import Plan, Writ
from .denied import Denied, Failed
from .receipt import NotVerified, Verified, verify_receipt

__all__ = ["Denied", "Failed", "NotVerified", "Plan", "Verified", "Writ", "verify_receipt"]
