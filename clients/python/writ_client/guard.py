"""Functions behind a plan."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import functools
import inspect
import json
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional, Tuple

from .denied import Denied, Failed

if TYPE_CHECKING:
    from .client import Plan


class Options(NamedTuple):
    wait: float
    on_held: Optional[Callable[[Denied], Any]]
    on_denied: Optional[Callable[[Denied], Any]]
    on_unreported: Optional[Callable[[Exception], None]]


class _Call(NamedTuple):
    server: Optional[str]
    tool: str
    arguments: Dict[str, Any]
    step: Optional[int] = None


class _Function(NamedTuple):
    run: Callable[..., Any]
    signature: inspect.Signature
    #: The name of the parameter that a method is called on, which is no argument.
    owner: Optional[str]


def guard(plan: Plan, name: str, function: Callable[..., Any], options: Options) -> Any:
    """Puts a function behind a plan."""
    of = _guardable(function)
    if isinstance(options.wait, bool) or not isinstance(options.wait, (int, float)) or not options.wait >= 0:
        raise TypeError("wait must be a number of seconds, 0 or more")
    if _is_async(function):

        @functools.wraps(function)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            owner: Tuple[Any, ...] = ()
            try:
                owner, copy = _arguments(of, args, kwargs)
                call, denied = await _decided_async(plan, name, copy, options)
            except Denied as error:
                call, denied = None, error
            if call is None:
                return await _settled(_refused(denied, options))
            began = time.monotonic()
            try:
                result = await function(*owner, **_copy(call.arguments))
            except BaseException as error:  # also where the task is cancelled: the call may have run
                await asyncio.shield(_in_thread(_report, plan, call, began, options, None, error))
                raise
            await _in_thread(_report, plan, call, began, options, result, None)
            return result

        return guarded_async

    if _is_async(options.on_held) or _is_async(options.on_denied):
        raise TypeError("on_held and on_denied can be async def only where the guarded function is")

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        owner: Tuple[Any, ...] = ()
        try:
            owner, copy = _arguments(of, args, kwargs)
            call, denied = _decided(plan, name, copy, options)
        except Denied as error:
            call, denied = None, error
        if call is None:
            return _refused(denied, options)
        began = time.monotonic()
        try:
            result = _at_once(function(*owner, **_copy(call.arguments)))
        except BaseException as error:  # also where it is interrupted: the call may have run
            _report(plan, call, began, options, None, error)
            raise
        _report(plan, call, began, options, result, None)
        return result

    return guarded


def _guardable(function: Callable[..., Any]) -> _Function:
    """The function, unless it could run other than it was judged, or after it was reported."""
    if not callable(function):
        raise TypeError("what is guarded is no function: put the decorator below @classmethod or @staticmethod")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("a guarded function gives its result at once: it cannot be a generator")
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise TypeError(f"arguments of a guarded function have names, and {parameter.name} has none")
    first = next(iter(signature.parameters), "")
    within, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    is_method = inspect.isfunction(function) and within != "" and not within.endswith("<locals>")
    return _Function(function, signature, first if is_method and first in ("self", "cls") else None)


def _is_async(function: Any) -> bool:
    called = getattr(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _at_once(result: Any) -> Any:
    """A result that is there. One that comes later would be reported before it is there."""
    if not inspect.isawaitable(result) and not inspect.isgenerator(result) and not inspect.isasyncgen(result):
        return result
    if inspect.iscoroutine(result):
        result.close()
    raise TypeError("a guarded function gives its result at once: make it async def, if it gives something to await")


async def _settled(given: Any) -> Any:
    """What a function of the caller gave, also where that is a coroutine."""
    return await given if inspect.isawaitable(given) else given


def _refused(denied: Optional[Denied], options: Options) -> Any:
    denied = denied or Denied("the call was not decided")
    if options.on_denied is None:
        raise denied
    return options.on_denied(denied)


def _arguments(
    of: _Function, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """What a method is called on, and the arguments of a call: by name, with defaults, as JSON.

    Nobody can change them while they are judged.
    """
    bound = of.signature.bind(*args, **kwargs)  # a call that the function itself would refuse is a TypeError as usual
    bound.apply_defaults()
    owner: Tuple[Any, ...] = ()
    if of.owner is not None:
        owner = (bound.arguments.pop(of.owner),)
        if type(owner[0]) in (str, int, float, bool, list, dict, type(None)):
            raise Denied(f"{of.owner} is what a method is called on, and no argument")  # else it would not be judged
    arguments: Dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if of.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(value)
        else:
            arguments[name] = value
    return owner, {name: _copy_of(name, value) for name, value in arguments.items()}


def _copy_of(name: str, value: Any) -> Any:
    try:
        return json.loads(json.dumps(_of_enums(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Denied(f"the argument {name} is no JSON: {error}") from error


def _of_enums(value: Any) -> Any:
    """The value, with what each member of an enum stands for in its place: JSON itself knows few kinds of them."""
    if isinstance(value, enum.Enum):
        return _of_enums(value.value)
    if isinstance(value, dict):
        return {_of_enums(name): _of_enums(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_of_enums(member) for member in value]
    return value


def _copy(arguments: Dict[str, Any]) -> Dict[str, Any]:
    copy: Dict[str, Any] = json.loads(json.dumps(arguments, allow_nan=False))
    return copy


def _decided(
    plan: Plan, name: str, arguments: Dict[str, Any], options: Options
) -> Tuple[Optional[_Call], Optional[Denied]]:
    """The call as it was allowed, or why it was not; where it is held, after a person agreed."""
    call = _Call(None, name, arguments)  # the server knows where the name of its server ends
    try:
        return _judged(call, _allowed(plan, call, options)), None
    except Exception as error:
        return None, _denied(error)


async def _decided_async(
    plan: Plan, name: str, arguments: Dict[str, Any], options: Options
) -> Tuple[Optional[_Call], Optional[Denied]]:
    """_decided for coroutines: a call that waits for a person occupies no thread."""
    call = _Call(None, name, arguments)
    try:
        return _judged(call, await _allowed_async(plan, call, options)), None
    except Exception as error:
        return None, _denied(error)


def _denied(error: Exception) -> Denied:
    if isinstance(error, Denied):
        return error
    denied = Denied(str(error))
    denied.__cause__ = error
    return denied


def _judged(call: _Call, decision: Dict[str, Any]) -> _Call:
    """The call under the server and the tool that it was judged for."""
    server, tool = decision.get("server"), call.tool
    if server and tool.startswith(server + "."):
        tool = tool[len(server) + 1 :]
    return call._replace(server=server or None, tool=tool, step=decision.get("step"))


def _allowed(plan: Plan, call: _Call, options: Options) -> Dict[str, Any]:
    try:
        return plan.decide(call.tool, call.arguments)
    except Denied as denied:
        held = _held(denied, options)
    if options.on_held is not None:
        options.on_held(held)
    try:
        approval = plan.wait(_approval(held), options.wait)
    except Failed as failed:
        raise _unanswered(held, failed) from failed
    _agreed(held, approval, options.wait)
    try:
        return plan.decide(call.tool, call.arguments)  # the approval allows nothing by itself: this does, once
    except Denied as denied:
        _check_expired(approval, denied)
        raise


async def _allowed_async(plan: Plan, call: _Call, options: Options) -> Dict[str, Any]:
    try:
        return await _in_thread(plan.decide, call.tool, call.arguments)
    except Denied as denied:
        held = _held(denied, options)
    if options.on_held is not None:
        # It takes as long as it likes, and no question waits for it.
        await _settled(await asyncio.to_thread(options.on_held, held))
    try:
        approval = await _wait_async(plan, _approval(held), options.wait)
    except Failed as failed:
        raise _unanswered(held, failed) from failed
    _agreed(held, approval, options.wait)
    try:
        return await _in_thread(plan.decide, call.tool, call.arguments)
    except Denied as denied:
        _check_expired(approval, denied)
        raise


def _held(denied: Denied, options: Options) -> Denied:
    """The denial, if it is one to wait for; else it is raised."""
    if denied.verdict == "deny" or denied.approval_id is None or options.wait <= 0:
        raise denied
    return denied


def _approval(held: Denied) -> str:
    assert held.approval_id is not None
    return held.approval_id


def _unanswered(held: Denied, failed: Failed) -> Denied:
    """The denial of a call whose answer nobody could ask for: its request stays open."""
    return _with(held, f"whether a person has agreed is not known: {failed}")


def _agreed(held: Denied, approval: Dict[str, Any], seconds: float) -> None:
    """Raises unless it is worth asking again."""
    if approval["status"] == "pending":
        raise _with(held, f"nobody answered within {_span(seconds)}") from held
    if "editedArguments" in approval:
        reason = "a person agreed to other arguments: call again with those"
        raise Denied(reason, "deny", held.decision, approval["editedArguments"]) from held


def _check_expired(approval: Dict[str, Any], denied: Denied) -> None:
    """Raises, where a call is held anew because its first request expired, a denial that says so."""
    if approval["status"] == "expired" and denied.verdict != "deny":
        raise _with(denied, "nobody answered before the first request expired") from denied


def _with(held: Denied, more: str) -> Denied:
    return Denied(f"{held}; {more}", held.verdict, held.decision)


def _span(seconds: float) -> str:
    """A time as people say it: 600 ms, 1.5 seconds, 10 minutes."""
    if seconds < 1:
        return f"{_number(seconds * 1000)} ms"
    units = (("hour", 3600), ("minute", 60), ("second", 1))
    name, size = next((unit for unit in units if seconds % unit[1] == 0), units[-1])
    count = _number(seconds / size)
    return f"{count} {name}" if count == "1" else f"{count} {name}s"


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


# The threads in which coroutines ask the server. A question takes as long as its answer, and none waits for a person.
_threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="writ-client")


def _forked() -> None:
    """A fork has none of its parent's threads, and would wait for them."""
    global _threads
    _threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="writ-client")


if hasattr(os, "register_at_fork"):  # else there are no forks
    os.register_at_fork(after_in_child=_forked)

# How often a call that waits for a person asks again, in seconds: soon at first, and less the longer it waits.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 5.0


async def _in_thread(function: Callable[..., Any], *args: Any) -> Any:
    within = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: within.run(function, *args))


async def _wait_async(plan: Plan, approval_id: str, seconds: float) -> Dict[str, Any]:
    """Plan.wait without a thread that waits: it asks again and again, and sleeps in between."""
    end, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        try:
            approval: Dict[str, Any] = await _in_thread(plan.wait, approval_id, 0)
        except Failed as failed:
            if not failed.may_pass or time.monotonic() >= end:
                raise
            approval = {"status": "pending"}
        left = end - time.monotonic()
        if approval["status"] != "pending" or left <= 0:
            return approval
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _report(
    plan: Plan, call: _Call, began: float, options: Options, result: Any, error: Optional[BaseException]
) -> None:
    status = "success" if error is None else "failed"
    more = {"server": call.server, "step": call.step, "duration_ms": round((time.monotonic() - began) * 1000)}
    words = None if error is None else str(error) or type(error).__name__
    try:
        plan.report(call.tool, call.arguments, status, output=_reportable(result), error=words, **more)
    except Exception as failed:
        try:
            if options.on_unreported is not None:
                options.on_unreported(failed)
                return
        except Exception as own:  # the call ran, and must not look as if it had not: whoever tries again does it twice
            failed = own
        warnings.warn(f"writ: a call was not reported: {failed}", RuntimeWarning, stacklevel=3)


def _reportable(result: Any) -> Any:
    try:
        return json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return str(result)
