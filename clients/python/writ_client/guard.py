"""Functions behind a plan."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import time
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional, Tuple

from .denied import Denied

if TYPE_CHECKING:
    from .client import Plan


class Options(NamedTuple):
    wait: float
    on_held: Optional[Callable[[Denied], None]]
    on_denied: Optional[Callable[[Denied], Any]]
    on_unreported: Optional[Callable[[Exception], None]]


class _Call(NamedTuple):
    server: Optional[str]
    tool: str
    arguments: Dict[str, Any]
    step: Optional[int] = None


def guard(plan: Plan, name: str, function: Callable[..., Any], options: Options) -> Any:
    """Puts a function behind a plan."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("a guarded function gives its result at once: it cannot be a generator")
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise TypeError(f"arguments of a guarded function have names, and {parameter.name} has none")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            try:
                copy = _arguments(signature, args, kwargs)
                call, denied = await asyncio.to_thread(_decided, plan, name, copy, options)
            except Denied as error:
                call, denied = None, error
            if call is None:
                return _refused(denied, options)
            began = time.monotonic()
            try:
                result = await function(**_copy(call.arguments))
            except BaseException as error:  # also where the task is cancelled: the call may have run
                await asyncio.shield(asyncio.to_thread(_report, plan, call, began, options, None, error))
                raise
            await asyncio.to_thread(_report, plan, call, began, options, result, None)
            return result

        return guarded_async

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            call, denied = _decided(plan, name, _arguments(signature, args, kwargs), options)
        except Denied as error:
            call, denied = None, error
        if call is None:
            return _refused(denied, options)
        began = time.monotonic()
        try:
            result = function(**_copy(call.arguments))
        except BaseException as error:  # also where it is interrupted: the call may have run
            _report(plan, call, began, options, None, error)
            raise
        _report(plan, call, began, options, result, None)
        return result

    return guarded


def _refused(denied: Optional[Denied], options: Options) -> Any:
    denied = denied or Denied("the call was not decided")
    if options.on_denied is None:
        raise denied
    return options.on_denied(denied)


def _arguments(signature: inspect.Signature, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments of a call by name, with defaults, as JSON: nobody can change them while they are judged."""
    bound = signature.bind(*args, **kwargs)  # a call that the function itself would refuse is a TypeError as usual
    bound.apply_defaults()
    arguments: Dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(value)
        else:
            arguments[name] = value
    try:
        return _copy(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        raise Denied(f"the arguments are no JSON: {error}") from error


def _copy(arguments: Dict[str, Any]) -> Dict[str, Any]:
    copy: Dict[str, Any] = json.loads(json.dumps(arguments, allow_nan=False))
    return copy


def _decided(
    plan: Plan, name: str, arguments: Dict[str, Any], options: Options
) -> Tuple[Optional[_Call], Optional[Denied]]:
    """The call as it was allowed, or why it was not; where it is held, after a person agreed."""
    server, dot, tool = name.partition(".")
    call = _Call(server, tool, arguments) if dot else _Call(None, name, arguments)
    try:
        decision = _allowed(plan, call, options)
    except Denied as denied:
        return None, denied
    except Exception as error:
        denied = Denied(str(error))
        denied.__cause__ = error
        return None, denied
    return call._replace(server=decision.get("server") or call.server, step=decision.get("step")), None


def _allowed(plan: Plan, call: _Call, options: Options) -> Dict[str, Any]:
    try:
        return plan.decide(call.tool, call.arguments, call.server)
    except Denied as denied:
        if denied.verdict == "deny" or denied.approval_id is None or options.wait <= 0:
            raise
        if options.on_held is not None:
            options.on_held(denied)
        approval = plan.wait(denied.approval_id, options.wait)
        if approval["status"] == "pending":
            raise
        if "editedArguments" in approval:
            reason = "a person agreed to other arguments: call again with those"
            raise Denied(reason, "deny", denied.decision, approval["editedArguments"]) from denied
    return plan.decide(call.tool, call.arguments, call.server)  # the approval allows nothing by itself: this does, once


def _report(
    plan: Plan, call: _Call, began: float, options: Options, result: Any, error: Optional[BaseException]
) -> None:
    status = "success" if error is None else "failed"
    more = {"server": call.server, "step": call.step, "duration_ms": round((time.monotonic() - began) * 1000)}
    words = None if error is None else str(error) or type(error).__name__
    try:
        plan.report(call.tool, call.arguments, status, output=_reportable(result), error=words, **more)
    except Exception as failed:
        if options.on_unreported is not None:
            options.on_unreported(failed)
        else:
            warnings.warn(f"writ: a call was not reported: {failed}", RuntimeWarning, stacklevel=3)


def _reportable(result: Any) -> Any:
    try:
        return json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return str(result)
