"""The same tool in LangChain: pip install langchain langchain-openai, and set OPENAI_API_KEY."""

import os

from langchain.agents import create_agent
from langchain_core.tools import tool
from writ_client import Writ

writ = Writ(os.environ["WRIT_URL"], os.environ["WRIT_API_KEY"], agent="billing")
plan = writ.declare(
    {"goal": "pay the rent", "steps": [{"mcp": "bank", "action": "send_money", "params": {"to": "landlord"}}]}
)


@tool
@plan.guard("bank.send_money", on_denied=lambda denied: f"not done: {denied}")
def send_money(to: str, amount: int) -> str:
    """Send money to somebody."""
    return f"sent {amount} to {to}"


agent = create_agent("openai:gpt-4o-mini", tools=[send_money])
answer = agent.invoke({"messages": [{"role": "user", "content": "Pay the rent of 900."}]})
print(answer["messages"][-1].content)
