"""The client and a real server: $WRIT_URL, $WRIT_API_KEY, and $WRIT_ACCESS_TOKEN of the person who answers."""

import asyncio
import json
import os
import unittest
import urllib.request

from writ_client import Denied, NotVerified, Writ, verify_receipt

URL = os.environ["WRIT_URL"]
PLAN = {"goal": "pay the rent", "steps": [{"mcp": "till", "action": "pay", "params": {"to": "landlord"}}]}
POLICY = """version: v1
name: python-client
rules:
  - {id: small, effect: allow, tools: ["till.pay"], when: args.amount > 0 && args.amount <= 1000}
  - {id: large, effect: hold, tools: ["till.pay"], when: args.amount > 1000}
  - {id: acme, effect: allow, tools: ["acme.till.pay", "acme.list"]}
"""


def person(method, path, body=None, kind="application/json"):
    text = body if isinstance(body, str) else json.dumps(body)
    headers = {"Authorization": "Bearer " + os.environ["WRIT_ACCESS_TOKEN"], "Content-Type": kind}
    request = urllib.request.Request(URL + path, None if body is None else text.encode(), headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def answering(how, **more):
    return lambda held: person("POST", f"/delegation/{how}", {"delegationId": held.approval_id, **more})


class LiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = person("POST", "/policies", POLICY, "application/yaml")
        person("POST", f"/policies/{made.get('policy', made)['id']}/activate", {})

    def setUp(self):
        self.plan = Writ(URL, os.environ["WRIT_API_KEY"], agent="billing").declare(PLAN)
        self.ran = []

    def guarded(self, **options):
        def pay(to, amount):
            self.ran.append(amount)
            return amount

        return self.plan.guard("till.pay", **options)(pay)

    def test_allowed(self):
        self.assertEqual(self.guarded()("landlord", amount=900), 900)
        self.assertEqual(self.ran, [900])
        report = person("GET", f"/iap/plan/{self.plan.id}/report")
        self.assertEqual((report["allowed"], report["executed"], report["drift"]), (1, 1, []))

    def test_a_misspelled_member_is_told(self):
        steps = [{"mcp": "till", "action": "pay", "parms": {"to": "landlord"}}]
        with self.assertWarnsRegex(RuntimeWarning, "step 0: parms is not read"):
            plan = Writ(URL, os.environ["WRIT_API_KEY"]).declare({"goal": "pay", "steps": steps})
        self.assertEqual(len(plan.warnings), 1)
        self.assertEqual(self.plan.warnings, [])

    def test_a_plan_that_lives_shorter_than_asked_is_told(self):
        steps = [{"mcp": "till", "action": "pay"}]
        with self.assertWarnsRegex(RuntimeWarning, "it lives 86400 seconds, not 3600000"):
            plan = Writ(URL, os.environ["WRIT_API_KEY"]).declare({"goal": "pay", "steps": steps}, expires_in=3600_000)
        self.assertEqual(len(plan.warnings), 1)

    def test_a_server_with_a_dot_in_its_name(self):
        steps = [{"mcp": "acme", "action": "list"}, {"mcp": "acme.till", "action": "pay"}]
        plan = Writ(URL, os.environ["WRIT_API_KEY"], agent="billing").declare({"goal": "pay", "steps": steps})
        plan.guard("acme.till.pay")(lambda amount: self.ran.append(amount))(5)
        plan.guard("acme.list")(lambda amount: self.ran.append(amount))(6)
        self.assertEqual(self.ran, [5, 6])
        report = person("GET", f"/iap/plan/{plan.id}/report")
        self.assertEqual((report["allowed"], report["executed"], report["drift"]), (2, 2, []))

    def test_coroutine(self):
        @self.plan.guard("till.pay", wait=60, on_held=answering("approve"))
        async def pay(to, amount):
            self.ran.append(amount)

        async def main():
            await asyncio.gather(pay("landlord", 5), pay("landlord", 3001))

        asyncio.run(main())
        self.assertEqual(sorted(self.ran), [5, 3001])

    def test_receipt(self):
        receipt = self.plan.decide("pay", {"to": "landlord", "amount": 1}, server="till")["receipt"]
        keys = person("GET", "/audit-log/key")["keys"]
        entry = person("GET", f"/audit-log/entries/{receipt['index']}")
        shown = {"record": entry["record"], "payload": entry["payloadText"], "salt": entry["salt"]}
        self.assertEqual(verify_receipt(receipt, keys, **shown).record["verdict"], "allow")
        shown["record"] = shown["record"].replace('"allow"', '"deny"')
        self.assertRaises(NotVerified, verify_receipt, receipt, keys, **shown)

    def test_not_in_the_plan_and_after_its_end(self):
        pay = self.guarded()
        self.assertRaises(Denied, pay, "mallory", 900)
        self.plan.end()
        self.assertRaises(Denied, pay, "landlord", 900)
        self.assertEqual(self.ran, [])

    def test_held(self):
        for options in ({}, {"wait": 0.01}):
            with self.assertRaises(Denied) as caught:
                self.guarded(**options)("landlord", 2001)
            self.assertEqual(caught.exception.verdict, "hold")
            self.assertIsNotNone(caught.exception.approval_id)
        self.assertEqual(self.ran, [])

    def test_approved(self):
        self.guarded(wait=60, on_held=answering("approve"))("landlord", 2002)
        self.assertEqual(self.ran, [2002])

    def test_rejected(self):
        with self.assertRaisesRegex(Denied, "paid already"):
            self.guarded(wait=60, on_held=answering("reject", note="paid already"))("landlord", 2003)
        self.assertEqual(self.ran, [])

    def test_changed_arguments(self):
        pay = self.guarded(wait=60, on_held=answering("approve", arguments={"to": "landlord", "amount": 1500}))
        with self.assertRaises(Denied) as caught:
            pay("landlord", 2004)
        self.assertEqual(caught.exception.edited_arguments, {"to": "landlord", "amount": 1500})
        pay(**caught.exception.edited_arguments)
        self.assertEqual(self.ran, [1500])

    def test_unknown_key(self):
        self.assertRaises(Denied, Writ(URL, "ak_test_nobody").declare, PLAN)


if __name__ == "__main__":
    unittest.main()
