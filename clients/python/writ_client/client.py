"""The server that decides, and plans that were declared to it."""

from __future__ import annotations

import time
import urllib.parse
import warnings
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar

from . import guard as _guard
from .denied import Denied, Failed
from .http import Connection, ask

_F = TypeVar("_F", bound=Callable[..., Any])

#: How long the server holds a question about an approval open, in seconds.
_POLL_SECONDS = 25
_STATUSES = ("pending", "approved", "rejected", "cancelled", "expired")


def _given(**members: Any) -> Dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


class Writ:
    """A server that decides about calls.

    url is its address, http://localhost:8080; api_key is the agent's key, of the scope enforce; agent is how the agent
    is called; timeout is how long an answer may take, in seconds.
    """

    def __init__(self, url: str, api_key: str, agent: Optional[str] = None, timeout: float = 10) -> None:
        if not timeout > 0:
            raise ValueError("timeout must be above 0 seconds")
        self._to = Connection(_address(url), _key(api_key), timeout)
        self._agent = agent

    def declare(
        self,
        plan: Mapping[str, Any],
        *,
        user: Optional[str] = None,
        user_email: Optional[str] = None,
        session: Optional[str] = None,
        context: Optional[str] = None,
        expires_in: Optional[float] = None,
    ) -> Plan:
        """Declares what the agent will do: {"goal": ..., "steps": [{"mcp", "action", "params"}, ...]}.

        expires_in is in seconds: five minutes unless set. Without a plan nothing runs: every failure is Denied.
        """
        if not isinstance(plan, Mapping):
            raise TypeError('a plan is a dict: {"goal": ..., "steps": [...]}')
        _check_life(expires_in)
        bound = _given(agent_id=self._agent, user_id=user, user_email=user_email, session_id=session)
        body = {"plan": dict(plan), **bound, **_given(context_id=context, expires_in=expires_in)}
        try:
            token = ask(self._to, "/iap/sdk/token", body)
            if not _is_token(token):
                raise Failed("/iap/sdk/token: the answer is no token")
        except Exception as error:
            raise Denied(f"no plan was declared: {error}") from error
        declared = Plan(self._to, token, self._agent)
        declared.warnings += _shortened(token["token"], expires_in)
        for warning in declared.warnings:
            warnings.warn(f"writ: the plan: {warning}", RuntimeWarning, stacklevel=2)
        return declared


def _check_life(expires_in: Optional[float]) -> None:
    """Refuses what is no time that a plan could live: the server would take it for a second, or for five minutes."""
    if expires_in is None:
        return
    number = isinstance(expires_in, (int, float)) and not isinstance(expires_in, bool)
    if not number or not 1 <= expires_in < float("inf"):
        raise TypeError("expires_in must be a number of seconds, 1 or more")


def _shortened(signed: Mapping[str, Any], expires_in: Optional[float]) -> List[str]:
    """Says that a plan lives shorter than was asked, as where somebody gives milliseconds."""
    since, until = signed.get("issued_at"), signed.get("expires_at")
    if expires_in is None or not isinstance(since, (int, float)) or not isinstance(until, (int, float)):
        return []
    life = until - since
    if life + 1 >= expires_in:
        return []
    return [f"it lives {life:.0f} seconds, not {expires_in:.0f}: the organization permits no more"]


def _address(url: str) -> str:
    """Checks an address. Errors do not repeat what was given: it may be a key, or have a password in it."""
    if not isinstance(url, str) or not url.strip():
        raise ValueError("url is missing, such as http://localhost:8080")
    try:
        parts = urllib.parse.urlsplit(url.strip())
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_host, parts = False, urllib.parse.urlsplit("")
    if not has_host or parts.scheme not in ("http", "https"):
        raise ValueError("url must begin with http:// or https://, and name a host")
    if "@" in parts.netloc:
        raise ValueError("url must not have a name and a password in it")
    if parts.query or parts.fragment:
        raise ValueError("url must not have a ? or # in it")
    return parts.geturl().rstrip("/")


def _key(api_key: str) -> str:
    """Checks a key, as a file has it with a line end. Other errors would repeat it, where a model reads them."""
    key = api_key.strip() if isinstance(api_key, str) else ""
    if not key:
        raise ValueError("api_key is missing")
    if not all("!" <= character <= "~" for character in key):
        raise ValueError("api_key has characters that no key has, such as spaces")
    return key


def _is_token(answer: Mapping[str, Any]) -> bool:
    texts = (answer.get("plan_id"), answer.get("jwt_token"))
    return all(isinstance(text, str) and text for text in texts) and isinstance(answer.get("token"), dict)


class Plan:
    """A declared plan: it decides about calls, and guards the functions that make them."""

    def __init__(self, to: Connection, token: Mapping[str, Any], agent: Optional[str] = None) -> None:
        self._to = to
        self._agent = agent
        self.token = token
        self.id: str = token["plan_id"]
        #: What in the plan is probably not meant so, such as a misspelled member of a step: it fixes nothing.
        self.warnings: List[str] = [str(warning) for warning in token.get("warnings") or ()]

    def guard(
        self,
        tool: str,
        *,
        wait: float = 0,
        on_held: Optional[Callable[[Denied], Any]] = None,
        on_denied: Optional[Callable[[Denied], Any]] = None,
        on_unreported: Optional[Callable[[Exception], None]] = None,
    ) -> Callable[[_F], _F]:
        """Decorates a function, or a coroutine function, that runs only when the server allows the call.

        tool is "server.tool", or its name alone: the server that decides knows which part is which. The arguments of
        the call are those of the function, by name, with its defaults. The function gets a copy of them: what was
        judged, as JSON, and nothing else; a method also gets what it is called on, which is no argument.

        wait is how long to wait for a person where a call is held, in seconds; on_held is called when that begins.
        on_denied gives what to return where the call may not run, such as words for a model; unless set, Denied is
        raised. Both may be coroutine functions where the function is one. on_unreported is called where a call ran and
        could not be reported; unless set, that is a warning.
        """
        if not isinstance(tool, str) or not tool:
            raise TypeError('a guarded tool has a name: @plan.guard("server.tool")')
        options = _guard.Options(wait, on_held, on_denied, on_unreported)
        return lambda function: _guard.guard(self, tool, function, options)

    def decide(self, tool: str, arguments: Mapping[str, Any], server: Optional[str] = None) -> Dict[str, Any]:
        """Asks about a call. It gives an allow; everything else is Denied, also where there is no answer."""
        if not isinstance(arguments, Mapping):
            raise TypeError('the arguments of a call are a dict: {"name": value}')
        call = {"tool": tool, "arguments": dict(arguments), "intent_token": self.token}
        try:
            answer = ask(self._to, "/iap/sdk/enforce", {**call, **_given(mcp=server, agent_id=self._agent)})
        except Exception as error:
            raise Denied(f"the call was not decided: {error}") from error
        return _allow_of(answer)

    def wait(self, approval_id: str, seconds: float) -> Dict[str, Any]:
        """Waits until a person has answered an approval request, at most so many seconds.

        People take long, and a server may be started anew meanwhile: it is asked again until the time is over.
        """
        end = time.monotonic() + seconds
        while True:
            asked = time.monotonic()
            left = max(0, min(_POLL_SECONDS, int(end - asked + 0.999)))
            query = urllib.parse.urlencode({"delegationId": approval_id, "waitSeconds": left})
            try:
                approval = ask(self._to, f"/delegation/poll?{query}", longer=left)
            except Failed as failed:
                if not failed.may_pass or time.monotonic() >= end:
                    raise
                approval = {"status": "pending"}
            if approval.get("status") not in _STATUSES:
                raise Failed("/delegation/poll: the answer is no approval request", 200)
            if approval["status"] != "pending" or time.monotonic() >= end:
                return approval
            # A server that many wait for answers at once: it is not asked more than once a second.
            time.sleep(max(0.0, min(asked + 1, end) - time.monotonic()))

    def report(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        status: str,
        *,
        server: Optional[str] = None,
        output: Any = None,
        error: Optional[str] = None,
        duration_ms: Optional[float] = None,
        step: Optional[int] = None,
    ) -> None:
        """Tells the server what came of a call, success or failed. It decides nothing; Failed: it was not taken."""
        body = {
            "token": self.token["jwt_token"],
            "plan_id": self.id,
            "tool": tool,
            "input": dict(arguments),
            "status": status,
            "step_index": -1 if step is None else step,
            "executed_at": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
        }
        more = _given(mcp=server, agent_id=self._agent, output=output, error_message=error, duration_ms=duration_ms)
        reported = ask(self._to, "/iap/audit", {**body, **more})
        if reported.get("iap_sync_status") != "synced":
            raise Failed(f"/iap/audit: the report was not taken: {reported.get('error') or 'no reason given'}")

    def end(self, status: str = "completed") -> None:
        """Ends the plan: none of its calls runs from now on."""
        ask(self._to, f"/iap/plans/{urllib.parse.quote(self.id, safe='')}/status", {"status": status})


def _allow_of(answer: Dict[str, Any]) -> Dict[str, Any]:
    """Gives an answer that allows: every member that says so must say so, and the decision must be recorded.

    What this client cannot keep (a confinement, duties with the result) it never asked for, and does not take for an
    allow.
    """
    reason = answer.get("reason")
    if answer.get("allowed") is not True:
        verdict = answer.get("decision")
        words = reason if isinstance(reason, str) and reason else "no reason was given"
        raise Denied(words, verdict if verdict in ("hold", "ask") else "deny", answer)
    words_of_allow = (answer.get("decision"), answer.get("action"), answer.get("enforcementAction"))
    recorded = answer.get("decisionId")
    if words_of_allow != ("allow",) * 3 or not isinstance(recorded, str) or not recorded:
        raise Denied("the answer contradicts itself", decision=answer)
    if "confine" in answer or "oblige" in answer:
        raise Denied("the call is allowed only under conditions that this client cannot keep", decision=answer)
    return answer
