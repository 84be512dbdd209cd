"""Verifies the receipt of a decision without asking the server: python verify.py KEY asks for one, and checks it."""

import os
import sys

from writ_client import Writ, verify_receipt

if len(sys.argv) != 2:
    sys.exit("usage: python verify.py KEY, where KEY is what writ audit key prints")

writ = Writ(os.environ["WRIT_URL"], os.environ["WRIT_API_KEY"], agent="billing")
plan = writ.declare({"goal": "pay the rent", "steps": [{"mcp": "bank", "action": "send_money"}]})
decision = plan.decide("send_money", {"to": "landlord", "amount": 10}, server="bank")

verified = verify_receipt(decision["receipt"], [sys.argv[1]])
print(f"decision {verified.index} of {verified.size} in the log of {verified.log}")
