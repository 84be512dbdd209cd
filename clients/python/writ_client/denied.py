"""What is raised where a call does not run, or a request has no usable answer."""

from __future__ import annotations

from typing import Any, Mapping, Optional


class Failed(Exception):
    """A request without a usable answer."""

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def may_pass(self) -> bool:
        """Nobody answered, or a server that starts, stops or has too much to do: asking again may help."""
        return self.status is None or self.status in (408, 429) or self.status >= 500


class Denied(Exception):
    """Says that a call did not run, and why, in words that a model can act on."""

    def __init__(
        self,
        reason: str,
        verdict: str = "deny",
        decision: Optional[Mapping[str, Any]] = None,
        edited_arguments: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        #: deny, hold or ask. hold and ask: a person has not answered yet; the same call may run when they agree.
        self.verdict = verdict
        #: The server's answer; None: there is none that can be trusted.
        self.decision = decision
        approval = (decision or {}).get("approvalId")
        #: The approval request that the call waits for.
        self.approval_id: Optional[str] = approval if isinstance(approval, str) and approval else None
        #: A person agreed to other arguments: call again with these.
        self.edited_arguments = edited_arguments
