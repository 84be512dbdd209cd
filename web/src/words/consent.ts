/** Words of letting OAuth clients act as agents. */
export const consent = {
  title: "Let a client act as an agent",
  nothing: "No client asks for anything. Begin in the client.",
  only: "Only if you started this yourself, in a client that you know.",
  selfAsserted:
    "The name is what the client says of itself; nobody has checked it. Whoever receives the answer gets the access that you give here.",
  who: "Signed in as",
  client: "Calls itself",
  described: "Described by",
  itself: "itself alone",
  goesTo: "Answer goes to",
  local: "(a program on the computer with this browser)",
  resource: "For",
  gets: "It can",
  rights: [
    "call tools through the proxy as this agent: each call is judged by your policies",
    "ask people for approval of its calls",
  ],
  never:
    "It can never read this dashboard, change policies, approve calls or make keys. It ends after 90 days, or when you end it.",
  organization: "Organization",
  agent: "Agent",
  noAgent: "You own no active agent here. Register one first, then load this page again.",
  toAgents: "Open Agents in another tab",
  firstKey:
    "No key is bound to this agent yet. From now on only this client, and keys that somebody binds to the agent, count as this agent.",
  approve: "Allow",
  deny: "Do not allow",
  approved: "Allowed. Go back to the client; you can close this page.",
  denied: "Not allowed. The client gets nothing.",
  wrong: "The client asks for something that cannot be given.",
  back: "Tell the client",
};
