/** Events are what a webhook can be told, in the order of a request's life and then of what else happens. */
export const events = [
  "approval.opened",
  "approval.voted",
  "approval.approved",
  "approval.rejected",
  "approval.cancelled",
  "approval.expired",
  "approval.used",
  "approval.revoked",
  "profile.proposed",
  "agent.killed",
  "agent.suspended",
  "agent.tripped",
  "mcp.tools_held",
];
