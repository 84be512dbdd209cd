"""What a guarded function does with answers, good and bad. The package is the one that was built and installed."""

import asyncio
import enum
import inspect
import json
import os
import subprocess
import sys
import threading
import unittest
import urllib.parse
import warnings
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from writ_client import Denied, Failed, Plan, Writ, verify_receipt
from writ_client.http import Connection, ask

CASES = json.loads((Path(__file__).parents[2] / "testdata" / "answers.json").read_text(encoding="utf-8"))
PLAN = {"goal": "pay", "steps": [{"mcp": "bank", "action": "send_money"}]}
ALLOW = json.loads(CASES[0]["body"])
PARTS = ("guard", "decide", "wait", "report", "end")


class StandIn(ThreadingHTTPServer):
    """A server that answers decisions as a case says, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self, case):
        super().__init__(("127.0.0.1", 0), Handler)
        self.case, self.asked, self.over = case, [], threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        self.server.asked.append(f"{self.command} {self.path}")
        fixed = {
            "/iap/sdk/token": {"plan_id": "p", "jwt_token": "j", "token": {}},
            "/iap/audit": {"audit_id": "a", "iap_sync_status": "synced"},
            "/elsewhere": ALLOW,
        }.get(self.path)
        if fixed is not None:
            self.send(201, json.dumps(fixed), {})
        else:
            self.play(**{key: self.server.case.get(key) for key in ("status", "body", "headers", "cut")})

    def play(self, status, body, headers, cut):
        if status == 0:
            return
        if status == -1:
            self.server.over.wait(5)
            return
        more = {"Content-Length": len(body) + 10} if cut or status == -2 else {}
        self.send(max(status, 200), body, {**(headers or {}), **more})
        if status == -2:
            self.wfile.flush()
            self.server.over.wait(5)

    def send(self, status, body, headers):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body.encode())


class Waiting(StandIn):
    """A server that holds every call, and approves all of them once so many wait at once."""

    request_queue_size = 256

    def __init__(self, until, outages=(), unanswered="pending"):
        self.until, self.waiting, self.approved = until, set(), set()
        self.unanswered = unanswered  # the status of a request that nobody has answered
        self.outages = list(outages)  # how the first questions about approvals are answered; 0: not at all
        super().__init__({"status": 200})
        self.RequestHandlerClass = WaitingHandler


class WaitingHandler(Handler):
    def do_POST(self):
        self.sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer()

    def play(self, **_):
        server, path = self.server, urllib.parse.urlsplit(self.path)
        if path.path == "/delegation/poll" and server.outages:
            status = server.outages.pop(0)
            return self.send(status, json.dumps({"message": "no"}), {}) if status else None
        if path.path == "/delegation/poll":
            asked = urllib.parse.parse_qs(path.query)["delegationId"][0]
            server.waiting.add(asked)
            if len(server.waiting) >= server.until:
                server.approved.add(asked)
            status = "approved" if asked in server.approved else server.unanswered
            return self.send(200, json.dumps({"status": status}), {})
        approval = str(self.sent["arguments"]["n"])
        held = {**ALLOW, "allowed": False, "decision": "hold", "reason": "held", "approvalId": approval}
        self.send(200, json.dumps(ALLOW if approval in server.approved else held), {})


def declared(server):
    # Only an answer that never ends needs a limit, and then it does not matter which answer it cuts off.
    return Writ(server.url, "ak_test_1", timeout=0.4 if server.case["status"] < 0 else 60).declare(PLAN)


class GuardTest(unittest.TestCase):
    def test_answers(self):
        self.assertGreater(len(CASES), 30)
        for case in CASES:
            with self.subTest(case["name"]), StandIn(case) as server:
                ran = []

                def pay(to):
                    declared(server).guard("bank.send_money")(lambda to: ran.append(to))(to)

                if case.get("runs"):
                    pay("landlord")
                    self.assertEqual(ran, ["landlord"])
                    self.assertIn("POST /iap/audit", server.asked)
                else:
                    self.assertRaises(Denied, pay, "landlord")
                    self.assertEqual(ran, [])
                    self.assertFalse([asked for asked in server.asked if "/elsewhere" in asked])

    def test_coroutines(self):
        for case in CASES[:3]:
            with self.subTest(case["name"]), StandIn(case) as server:
                ran = []

                @declared(server).guard("bank.send_money")
                async def pay(to):
                    ran.append(to)
                    return to

                if case.get("runs"):
                    self.assertEqual(asyncio.run(pay(to="landlord")), "landlord")
                    self.assertIn("POST /iap/audit", server.asked)
                else:
                    with self.assertRaises(Denied):
                        asyncio.run(pay("landlord"))
                self.assertEqual(ran, ["landlord"] if case.get("runs") else [])

    def test_held_coroutines_occupy_few_threads(self):
        with Waiting(until=200) as server:
            plan, ran = declared(server), []

            @plan.guard("bank.send_money", wait=600)
            async def pay(n):
                ran.append(n)

            async def main():
                await asyncio.gather(*(pay(n) for n in range(200)))

            asyncio.run(main())
            self.assertEqual(sorted(ran), list(range(200)))
            names = [thread.name for thread in threading.enumerate()]
            self.assertLessEqual(len([name for name in names if name.startswith("writ-client")]), 16)
            self.assertFalse([name for name in names if name.startswith("asyncio")])

    def test_a_server_may_start_anew_while_a_person_is_asked(self):
        with Waiting(until=1, outages=[0, 503, 0, 429]) as server:
            plan = declared(server)

            @plan.guard("bank.send_money", wait=600)
            async def pay_async(n):
                return n

            self.assertEqual(plan.guard("bank.send_money", wait=600)(lambda n: n)(1), 1)
            self.assertEqual(asyncio.run(pay_async(2)), 2)
            self.assertEqual(server.outages, [])

    def test_what_no_waiting_mends_ends_it(self):
        with Waiting(until=1, outages=[401, 403]) as server:
            plan, ran = declared(server), []

            @plan.guard("bank.send_money", wait=600)
            async def pay_async(n):
                ran.append(n)

            pay = plan.guard("bank.send_money", wait=600)(lambda n: ran.append(n))
            for call, approval in ((lambda: pay(1), "1"), (lambda: asyncio.run(pay_async(2)), "2")):
                with self.assertRaisesRegex(Denied, "whether a person has agreed is not known") as denied:
                    call()
                self.assertEqual((denied.exception.verdict, denied.exception.approval_id), ("hold", approval))
            self.assertEqual(ran, [])

    def assert_unanswered(self, server, wait, words):
        plan, ran = declared(server), []

        @plan.guard("bank.send_money", wait=wait)
        async def pay_async(n):
            ran.append(n)

        pay = plan.guard("bank.send_money", wait=wait)(lambda n: ran.append(n))
        for call, approval in ((lambda: pay(1), "1"), (lambda: asyncio.run(pay_async(2)), "2")):
            with self.assertRaises(Denied) as caught:
                call()
            denied = caught.exception
            self.assertEqual((denied.reason, str(denied)), (words, words))
            self.assertEqual((denied.verdict, denied.approval_id), ("hold", approval))
        self.assertEqual(ran, [])

    def test_a_wait_that_ends_says_that_nobody_answered(self):
        with Waiting(until=9) as server:
            self.assert_unanswered(server, 0.2, "held; nobody answered within 200 ms")
            self.assert_unanswered(server, 1, "held; nobody answered within 1 second")

    def test_a_request_that_expires_says_that_nobody_answered(self):
        with Waiting(until=9, unanswered="expired") as server:
            self.assert_unanswered(server, 600, "held; nobody answered before the first request expired")

    def test_times_as_people_say_them(self):
        with Waiting(until=9) as server:
            plan = declared(server)
            plan.wait = lambda *_: {"status": "pending"}
            for wait, words in (
                (0.0004, "0.4 ms"), (0.6, "600 ms"), (1.5, "1.5 seconds"), (60, "1 minute"), (90, "90 seconds"),
                (600.0, "10 minutes"), (5400, "90 minutes"), (3600, "1 hour"), (86400, "24 hours"),
            ):  # fmt: skip
                pay = plan.guard("bank.send_money", wait=wait)(lambda n: self.fail("it ran"))
                self.assertRaisesRegex(Denied, f"nobody answered within {words}$", pay, 1)

    def test_a_time_to_wait_is_a_number(self):
        with StandIn(CASES[0]) as server:
            for wait in ("600", -1, float("nan"), None, True):
                with self.assertRaisesRegex(TypeError, "wait must be a number"):
                    declared(server).guard("bank.send_money", wait=wait)(lambda to: to)

    def test_no_question_waits_for_on_held(self):
        go_on, told = threading.Event(), []
        with Waiting(until=16) as server, StandIn(CASES[0]) as other:

            def on_held(denied):
                told.append(denied.approval_id)
                go_on.wait(60)

            @declared(server).guard("bank.send_money", wait=600, on_held=on_held)
            async def pay(n):
                return n

            @declared(other).guard("bank.send_money")
            async def pay_at_once(to):
                return to

            async def main():
                asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(16))
                held = asyncio.gather(*(pay(n) for n in range(16)))
                try:
                    while len(told) < 16:
                        await asyncio.sleep(0.01)
                    self.assertEqual(await asyncio.wait_for(pay_at_once("landlord"), 30), "landlord")
                finally:
                    go_on.set()
                    await held

            asyncio.run(main())

    def test_forks_have_their_own_threads(self):
        with StandIn(CASES[0]) as server:

            @declared(server).guard("bank.send_money")
            async def pay(to):
                return to

            asyncio.run(pay("landlord"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # servers fork with threads nevertheless
                child = os.fork()
            if child == 0:
                code = 1
                try:
                    asyncio.run(asyncio.wait_for(pay("landlord"), 30))
                    code = 0
                finally:
                    os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_the_server_cuts_names(self):
        sent = []
        with StandIn({"status": 200, "body": json.dumps({**ALLOW, "server": "acme.bank", "step": 2})}) as server:
            plan = declared(server)
            decide, report = plan.decide, plan.report
            plan.decide = lambda *args: sent.append(args) or decide(*args)
            plan.report = lambda *args, **more: sent.append((args[0], more["server"], more["step"]))
            plan.guard("acme.bank.pay")(lambda to: None)("landlord")
        self.assertEqual(sent, [("acme.bank.pay", {"to": "landlord"}), ("pay", "acme.bank", 2)])

    def test_no_server_is_a_deny(self):
        words = "the server at http://127.0.0.1:9 did not answer: .*refused$"  # and nothing of how it was asked
        self.assertRaisesRegex(Denied, words, Writ("http://127.0.0.1:9", "k").declare, PLAN)

    def test_https_to_a_server_of_http(self):
        with StandIn(CASES[0]) as server:
            url = server.url.replace("http:", "https:")
            words = f"the server at {url} did not answer: .*; does the server speak http[?]$"
            self.assertRaisesRegex(Denied, words, Writ(url, "k").declare, PLAN)

    def test_an_address_in_an_error_has_no_secret(self):
        to = Connection("http://me:secret@127.0.0.1:9/writ?secret=1#secret", "k", 10)
        with self.assertRaisesRegex(Failed, "at http://127.0.0.1:9/writ did not answer") as caught:
            ask(to, "/iap/sdk/token")
        self.assertNotIn("secret", str(caught.exception))

    def test_arguments_have_names_and_defaults(self):
        with StandIn(CASES[0]) as server:
            ran = []

            @declared(server).guard("bank.send_money")
            def pay(to, parts, currency="EUR", **more):
                parts.append(2)
                ran.append((to, parts, currency, more))

            given = [1]
            pay("landlord", given, note="May")
            self.assertEqual(ran, [("landlord", [1, 2], "EUR", {"note": "May"})])
            self.assertEqual(given, [1])
            self.assertRaises(TypeError, pay)

    def test_arguments_that_are_no_json(self):
        with StandIn(CASES[0]) as server:
            pay = declared(server).guard("bank.send_money")(lambda amount: self.fail("it ran"))
            for amount in (object(), float("nan"), {1, 2}, b"text"):
                self.assertRaisesRegex(Denied, "the argument amount is no JSON", pay, amount)
            self.assertEqual(server.asked, ["POST /iap/sdk/token"])

    def test_an_enum_becomes_its_value(self):
        plain = enum.Enum("plain", {"EUR": "eur", "BOTH": ("eur", 2)})
        nested = enum.Enum("nested", {"EUR": plain.EUR, "OTHER": object()})
        text = enum.Enum("text", {"EUR": "eur"}, type=str)
        members = (plain.EUR, nested.EUR, text.EUR, enum.IntEnum("number", "ONE").ONE, enum.Flag("flag", "A B").B)
        with StandIn(CASES[0]) as server:
            ran = []
            pay = declared(server).guard("bank.send_money")(lambda given: ran.append(given))
            for member in members:
                pay(member)
            pay([plain.BOTH, {plain.EUR: {"in": plain.EUR}}])
            self.assertEqual(ran, ["eur", "eur", "eur", 1, 2, [["eur", 2], {"eur": {"in": "eur"}}]])
            circle = []
            circle.append(circle)
            for given in (nested.OTHER, [nested.OTHER], {plain.EUR: b"text"}, circle):
                self.assertRaisesRegex(Denied, "the argument given is no JSON", pay, given)
            self.assertEqual(len(ran), 6)

    def test_functions_that_cannot_be_guarded(self):
        with StandIn(CASES[0]) as server:
            guard = declared(server).guard("bank.send_money")

            def several():
                yield 1

            async def several_later():
                yield 1

            for function in (several, several_later, lambda *args: None):
                self.assertRaises(TypeError, guard, function)

    def test_results_that_come_later(self):
        async def later():
            self.fail("it ran after it was reported")

        with StandIn(CASES[0]) as server:
            guard = declared(server).guard("bank.send_money")
            for function in (lambda: later(), lambda: (n for n in [1])):
                self.assertRaises(TypeError, guard(function))

            class Pay:
                async def __call__(self, to):
                    return to

            self.assertEqual(asyncio.run(guard(Pay())("landlord")), "landlord")

    def test_methods(self):
        with StandIn(CASES[0]) as server:
            plan, sent = declared(server), []
            decide = plan.decide
            plan.decide = lambda tool, arguments: sent.append(arguments) or decide(tool, arguments)

            class Bank:
                name = "first"

                @plan.guard("bank.send_money")
                def pay(self, to, amount=1):
                    return (self.name, to, amount)

                @classmethod
                @plan.guard("bank.send_money")
                async def open(cls, to):
                    return (cls.name, to)

                @staticmethod
                @plan.guard("bank.send_money")
                def close(to):
                    return to

            self.assertEqual(Bank().pay("landlord"), ("first", "landlord", 1))
            self.assertEqual(asyncio.run(Bank.open(to="landlord")), ("first", "landlord"))
            self.assertEqual(Bank().close("landlord"), "landlord")
            self.assertEqual(sent, [{"to": "landlord", "amount": 1}, {"to": "landlord"}, {"to": "landlord"}])
            self.assertRaises(Denied, Bank.pay, "what a model says", "landlord")
            self.assertEqual(len(sent), 3)

    def test_self_of_no_method_is_an_argument(self):
        with StandIn(CASES[0]) as server:
            pay = declared(server).guard("bank.send_money")(lambda self: self.fail("it ran"))
            self.assertRaises(Denied, pay, object())

    def test_on_denied(self):
        with StandIn(CASES[2]) as server:
            plan = declared(server)
            pay = plan.guard("bank.send_money", on_denied=lambda denied: f"no: {denied.reason}")(lambda: "ran")
            self.assertEqual(pay(), "no: not in the plan")

    def test_callbacks_of_coroutines(self):
        async def words(denied):
            return f"no: {denied.reason}"

        told = []

        async def on_held(denied):
            told.append(denied.approval_id)

        async def pay(n):
            return n

        with StandIn(CASES[2]) as server:
            plan = declared(server)
            self.assertEqual(asyncio.run(plan.guard("pay", on_denied=words)(pay)(1)), "no: not in the plan")
            self.assertRaises(TypeError, plan.guard("pay", on_denied=words), lambda n: n)
        with Waiting(until=1) as server:
            self.assertEqual(asyncio.run(declared(server).guard("pay", wait=60, on_held=on_held)(pay)(1)), 1)
        self.assertEqual(told, ["1"])

    def test_a_call_that_fails(self):
        with StandIn(CASES[0]) as server:

            @declared(server).guard("bank.send_money")
            def fail():
                raise LookupError("no money")

            self.assertRaises(LookupError, fail)
            self.assertIn("POST /iap/audit", server.asked)

    def test_a_call_that_is_cancelled(self):
        with StandIn(CASES[0]) as server:
            guard = declared(server).guard("bank.send_money")

            async def cancel():
                began = asyncio.Event()  # of this loop: an older Python ties it to the one that is there now

                @guard
                async def pay():
                    began.set()
                    await asyncio.sleep(60)

                task = asyncio.ensure_future(pay())
                await began.wait()
                task.cancel()
                await task

            self.assertRaises(asyncio.CancelledError, asyncio.run, cancel())
            self.assertIn("POST /iap/audit", server.asked)

    def test_a_report_that_fails(self):
        with StandIn(CASES[0]) as server:
            plan = declared(server)
            plan.report = lambda *_, **__: (_ for _ in ()).throw(OSError("away"))
            pay = plan.guard("bank.send_money")(lambda: "ran")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertEqual(pay(), "ran")
            self.assertIn("not reported", str(caught[0].message))

            def complain(_):
                raise LookupError("nobody to tell")

            with self.assertWarnsRegex(RuntimeWarning, "nobody to tell"):
                self.assertEqual(plan.guard("bank.send_money", on_unreported=complain)(lambda: "ran")(), "ran")

    def test_the_page_has_the_signatures_of_the_code(self):
        page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
        methods = {"writ.declare": Writ.declare, **{f"plan.{name}": getattr(Plan, name) for name in PARTS}}
        for shown, function in {**methods, "Writ": Writ, "verify_receipt": verify_receipt}.items():
            given = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
            bare = inspect.Signature([p.replace(annotation=p.empty) for p in given])
            self.assertIn(f"\n{shown}{bare}".replace("'", '"'), page)

    def test_options(self):
        self.assertRaises(ValueError, Writ, "localhost:8080", "k")
        self.assertRaises(ValueError, Writ, "http://localhost", "")
        self.assertRaises(ValueError, Writ, "http://localhost", "k", timeout=0)
        for url in (None, "", "http://", "http://:8080", "http://localhost:x", "http://localhost/?a", "ftp://here"):
            self.assertRaisesRegex(ValueError, "url", Writ, url, "k")
        with StandIn(CASES[0]) as server:
            self.assertRaisesRegex(TypeError, "a name", declared(server).guard, lambda to: to)
            self.assertRaisesRegex(TypeError, "arguments of a call are a dict", declared(server).decide, "pay", ["ann"])
        writ = Writ("http://localhost", "k")
        self.assertRaisesRegex(TypeError, "a plan is a dict", writ.declare, None)
        for life in (0, -3, 0.5, float("nan"), float("inf"), "1h", True):
            self.assertRaisesRegex(TypeError, "expires_in must be a number of seconds", writ.declare, PLAN, expires_in=life)

    def test_no_error_repeats_a_secret(self):
        secrets = ("ak_test_1\nsecret", "ak_test_secret\x00", "ak_test_secr\u00e9t")
        for url, key in [*(("http://127.0.0.1:9", key) for key in secrets), ("ak_test_secret", "http://127.0.0.1:9")]:
            with self.assertRaises(ValueError) as caught:
                Writ(url, key)
            self.assertNotIn("secr", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            Writ("http://me:secret@127.0.0.1:9", "k")
        self.assertNotIn("secret", str(caught.exception))

    def test_a_key_and_an_address_as_a_file_has_them(self):
        with StandIn(CASES[0]) as server:
            self.assertEqual(Writ(f" {server.url}//\r\n", "ak_test_1\r\n").declare(PLAN).id, "p")

    def test_a_proxy_of_the_environment_does_not_get_the_key(self):
        ask = "import sys, writ_client; writ_client.Writ(sys.argv[1], 'k').declare({'goal': 'pay', 'steps': []})"
        with StandIn(CASES[0]) as server, StandIn(CASES[0]) as proxy:
            ours = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
            env = {**ours, "http_proxy": proxy.url, "HTTP_PROXY": proxy.url}
            subprocess.run([sys.executable, "-c", ask, server.url], env=env, check=True, timeout=60)
            self.assertEqual((server.asked, proxy.asked), (["POST /iap/sdk/token"], []))

    def test_what_is_not_there_is_no_wrong_address(self):
        for said, ends in (("no such approval request", "404\\)$"), ("nothing is here", "is url the address of the server")):
            with StandIn({"status": 404, "body": json.dumps({"message": said})}) as server:
                self.assertRaisesRegex(Failed, ends, declared(server).wait, "ID", 1)

    def test_other_servers_are_told_from_ours(self):
        for status, body, words in (
            (404, "<html>", "no answer of a Writ server"),
            (200, "<html>", "is url the address of a Writ server"),
            (301, "", "redirect"),
        ):
            with self.subTest(status), StandIn({"status": status, "body": body}) as server:
                pay = declared(server).guard("bank.send_money")(lambda: self.fail("it ran"))
                self.assertRaisesRegex(Denied, words, pay)


if __name__ == "__main__":
    unittest.main()
