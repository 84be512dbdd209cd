package planserver

const instructions = `Tool calls are checked against a plan. Before you use tools, register a plan with
register_intent_plan that names every tool you will use for what the person asked, with the arguments you know already.
A new prompt of the person needs a new plan.`

const registerDescription = `Register the plan for what the person asked: which tools you will call, and with which
arguments. Call this before any other tool; calls that are not in the plan do not run. A plan holds until the person's next
prompt. To do more than the plan says, register the whole plan again with "amends", which says why.`

const resetDescription = `End the plan of this turn. Calls do not run until you register another, which may not do more
than the plans of this turn unless it says why ("amends").`

const getDescription = `Show the plan of this turn: its goal, tools and end.`

// registerSchema is closed: a member that is not read would let a plan permit more than it says.
const registerSchema = `{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "What the person wants, in one sentence."},
    "steps": {
      "type": "array", "minItems": 1, "maxItems": 500,
      "description": "The calls you will make.",
      "items": {
        "type": "object",
        "properties": {
          "action": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The name of the tool, as you call it."},
          "mcp": {"type": "string", "maxLength": 200, "description": "The MCP server of the tool, if it has one and the name does not show it."},
          "params": {"type": "object", "description": "Arguments that you know already. The call must have exactly these; others are free."},
          "strict": {"type": "boolean", "description": "The call has no other arguments than params."},
          "max_calls": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "How often you will call it at most."},
          "description": {"type": "string", "maxLength": 1024, "description": "What for."}
        },
        "required": ["action"],
        "additionalProperties": false
      }
    },
    "may": {
      "type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 200},
      "description": "Names of tools that you may need beside the steps."
    },
    "ordered": {"type": "boolean", "description": "The steps are called in this order."},
    "amends": {"type": "string", "maxLength": 500, "description": "Why this plan does more than an earlier one of this turn. Leave it out in a first plan."},
    "session_ticket": {"type": "string", "maxLength": 4096, "description": "Leave this out: the host adds it."}
  },
  "required": ["goal", "steps"],
  "additionalProperties": false
}`

const ticketSchema = `{
  "type": "object",
  "properties": {
    "session_ticket": {"type": "string", "maxLength": 4096, "description": "Leave this out: the host adds it."}
  },
  "additionalProperties": false
}`
