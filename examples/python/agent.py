"""An agent whose tool is behind Writ: nothing is sent that the server has not allowed."""

import os

from writ_client import Denied, Writ

writ = Writ(os.environ["WRIT_URL"], os.environ["WRIT_API_KEY"], agent="billing")
plan = writ.declare(
    {"goal": "pay the rent", "steps": [{"mcp": "bank", "action": "send_money", "params": {"to": "landlord"}}]},
    expires_in=3600,  # seconds: the plan outlives the time that a person may take
)


@plan.guard("bank.send_money", wait=600, on_held=lambda held: print(f"waits for {held.approval_id}", flush=True))
def send_money(to: str, amount: int) -> str:
    return f"sent {amount} to {to}"


print(send_money("landlord", 900))
try:
    send_money("mallory", 900)
except Denied as denied:
    print(f"Denied: {denied}")
print(send_money("landlord", 5000))
