/** Words of what decides beside policies, by its reserved id, and of the rules it decides by. */
export const deciders = {
  /** What decided. */
  names: {
    "writ:intent": "the plan",
    "writ:approval": "an answer to an approval",
    "writ:agent": "the state of the agent",
    "writ:mcp": "the registry of MCP servers",
    "writ:default": "no policy",
  } as Record<string, string | undefined>,
  /** Why it denied. */
  why: {
    "writ:intent": "Not as planned",
    "writ:approval": "No approval",
    "writ:agent": "Agent stopped or unknown",
    "writ:mcp": "MCP server or tool not accepted",
    "writ:default": "No rule allows it",
  } as Record<string, string | undefined>,
  rules: {
    no_plan: "without a plan",
    not_genuine: "the plan's token is not genuine",
    not_current: "the plan has expired",
    ended: "the plan has ended",
    elsewhere: "a plan of another key, user or session",
    not_in_plan: "a tool that is not planned",
    arguments: "other arguments than planned",
    out_of_order: "an earlier step was left out",
    widened: "a step that was added later",
    ungrounded: "only a text asks for it",
    used_up: "more calls than planned",
    other_turn: "a plan of another turn",
    bad_proof: "the proof does not fit the plan",
    not_held: "no proof that the caller holds the delegation",
    replayed: "a proof that was used before",
    beyond: "more than the delegation permits",
    killed: "stopped by the kill switch",
    suspended: "suspended",
    unregistered: "not registered",
    key: "the key is not valid",
    certificate: "the certificate does not prove the agent",
    budget: "the budget cannot be read",
    rejected: "a person said no",
    changed: "the request changed meanwhile",
    too_many: "too many requests wait",
    denied_server: "a person refused the server",
    held_tool: "nobody has accepted the tool",
    not_carried: "the proxy cannot carry it",
  } as Record<string, string | undefined>,
  noRule: "no rule matches",
};

/** ruleName says a rule in words, where it is Writ's own: what people call their rules stays as they wrote it. */
export function ruleName(decider: string, rule: string): string | undefined {
  if (rule === "default") return deciders.noRule;
  return deciders.names[decider] === undefined ? undefined : deciders.rules[rule];
}
