"""The same tool in OpenAI Agents: pip install openai-agents, and set OPENAI_API_KEY."""

import asyncio
import os

from agents import Agent, Runner, function_tool
from writ_client import Writ

writ = Writ(os.environ["WRIT_URL"], os.environ["WRIT_API_KEY"], agent="billing")
plan = writ.declare(
    {"goal": "pay the rent", "steps": [{"mcp": "bank", "action": "send_money", "params": {"to": "landlord"}}]}
)


@function_tool
@plan.guard("bank.send_money", on_denied=lambda denied: f"not done: {denied}")
async def send_money(to: str, amount: int) -> str:
    """Send money to somebody."""
    return f"sent {amount} to {to}"


async def main() -> None:
    agent = Agent(name="billing", instructions="Pay what you are told to.", tools=[send_money])
    result = await Runner.run(agent, "Pay the rent of 900.")
    print(result.final_output)


asyncio.run(main())
