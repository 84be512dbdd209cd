// Every screen, for the checks that all of them must pass: axe, hostile texts, both
// themes, narrow, empty. A screen is one line: add yours here.
//
//   path    below /ui; a function gets what seed() made
//   demo    in the organization of demo data
//   empty   what the screen says in an organization without anything
const agentAt = (tab) => (seeded) => `/agents/${encodeURIComponent(seeded.agents.hostileAgent)}?tab=${tab}`;
const serverAt = (tab) => (seeded) => `/servers/${seeded.agents.server}?tab=${tab}`;

export const screens = [
  { name: "overview", path: "/", empty: "No decision yet." },
  { name: "overview-demo", path: "/", demo: true },
  { name: "start", path: "/start", empty: "Make a key" },
  { name: "audit", path: "/audit" },
  { name: "decisions", path: "/decisions", empty: "No decision yet." },
  { name: "findings", path: "/findings?state=all", empty: "Nothing was found." },
  { name: "entry", path: () => "/audit/1" },
  { name: "session", path: ({ session }) => `/sessions/${session}` },
  { name: "session-hostile", path: ({ hostileSession }) => `/sessions/${encodeURIComponent(hostileSession)}` },
  { name: "sessions", path: "/sessions", empty: "No sessions yet." },
  { name: "trace", path: ({ rich }) => `/traces/${rich}` },
  { name: "trace-hostile", path: ({ traces }) => `/traces/${traces[6]}` },
  { name: "trace-span", path: ({ rich }) => `/traces/${rich}?q=evil0&path=critical` },
  { name: "traces", path: "/traces", empty: "No traces yet." },
  {
    name: "traces-columns",
    path: "/traces?cols=time,status,name:120,agent,input,output,duration,tokens,cost,spans,errors,session,user,tags,id",
  },
  {
    name: "decisions-filtered",
    path: ({ hostileSession: s }) => `/decisions?session=${encodeURIComponent(s)}&range=24h`,
  },
  { name: "traces-filtered", path: "/traces?status=ok&agentId=nobody&cols=time,name:300,tags,user", empty: "matches" },
  { name: "plans", path: "/plans", empty: "No plan yet." },
  { name: "approvals", path: "/approvals", empty: "Nothing waits." },
  { name: "approvals-history", path: "/approvals?status=all", empty: "No request yet." },
  { name: "approvals-filtered", path: "/approvals?status=expired&tool=none", empty: "No request matches." },
  { name: "approvals-standing", path: "/approvals/standing", empty: "No standing approval." },
  { name: "approvals-figures", path: "/approvals/figures", empty: "Nobody has answered in this time." },
  { name: "approvals-missing", path: "/approvals/0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", empty: "no such request" },
  { name: "agents", path: "/agents", empty: "No agent yet." },
  { name: "agents-filtered", path: "/agents?status=killed", empty: "No agent matches the filter." },
  { name: "agent", path: agentAt("decisions") },
  { name: "agent-plans", path: agentAt("plans") },
  { name: "agent-traces", path: agentAt("traces") },
  { name: "agent-policies", path: agentAt("policies") },
  { name: "agent-keys", path: agentAt("keys") },
  { name: "agent-leases", path: agentAt("leases") },
  { name: "agent-trips", path: agentAt("trips") },
  { name: "agent-missing", path: "/agents/nobody", empty: "There is no such agent here." },
  { name: "servers", path: "/servers", empty: "No MCP server yet." },
  { name: "server", path: serverAt("tools") },
  { name: "server-findings", path: serverAt("findings") },
  { name: "server-calls", path: serverAt("calls") },
  { name: "server-health", path: serverAt("health") },
  { name: "server-missing", path: "/servers/nobody", empty: "There is no such server here." },
  { name: "inbox", path: "/inbox", empty: "Nothing yet." },
  { name: "me", path: "/me" },
  { name: "settings", path: "/settings" },
  { name: "settings-members", path: "/settings/members" },
  { name: "settings-roles", path: "/settings/roles" },
  { name: "settings-keys", path: "/settings/keys", empty: "No keys yet." },
  { name: "settings-identity", path: "/settings/identity", empty: "No identity provider yet." },
  { name: "settings-webhooks", path: "/settings/webhooks", empty: "No webhooks yet." },
  { name: "settings-webhook", path: (seeded) => `/settings/webhooks/${seeded.people.webhook}` },
  { name: "settings-forwarding", path: "/settings/forwarding", empty: "Nothing is forwarded." },
  { name: "settings-enforcement", path: "/settings/enforcement" },
  { name: "settings-retention", path: "/settings/retention" },
  { name: "device", path: "/device", empty: "Code of the terminal" },
  { name: "consent", path: "/consent", empty: "No client asks for anything." },
  { name: "design", path: "/design" },
  { name: "usage", path: "/usage", empty: "No tokens were used in this time." },
  { name: "usage-demo", path: "/usage", demo: true },
  { name: "usage-tool", path: "/usage?by=tool" },
  { name: "usage-agent", path: "/usage?by=agent" },
  { name: "usage-session", path: "/usage?by=session" },
  { name: "usage-price", path: "/usage?price=claude-opus-4", demo: true },
  { name: "missing", path: "/nothing-here", empty: "There is no such page." },
];

/** Pages for people who are not signed in. */
export const publicScreens = [
  { name: "sign-in", path: "/sign-in" },
  { name: "register", path: "/register" },
  { name: "verify", path: "/verify?email=ada@example.org" },
  { name: "forgot", path: "/reset-password" },
  { name: "reset", path: "/reset-password?token=x" },
  { name: "invite", path: "/invites/accept?token=x" },
];
