package layout_test

import (
	"slices"
	"testing"

	"writ/internal/layout"
)

// maxLines is the length of a file above which it has more than one subject.
const maxLines = 600

// table lists our packages from the programs to the ground, and which of the
// others each may import. Imports point down. Areas do not import areas: what
// needs two of them is composed in api or app.
var table = layout.Table{
	// Programs.
	row("cmd/writd", "internal/cli/writd", "internal/cli"),
	row("cmd/writ", "internal/cli/run", "internal/cli/hooks", "internal/confine/sandbox",
		"internal/hook/launch"),
	row("cmd/writ-plan", "internal/cli", "internal/planserver", "internal/hook/guardfile"),
	row("cmd/writ-client", "internal/cli/writ", "internal/cli", "internal/confine/sandbox"),
	row("internal/planserver", "client", "internal/hook/guardfile"),
	row("internal/cli/writd",
		"internal/policy/policytest", "internal/policy/lint", "internal/policy/engine", "internal/policy/document",
		"internal/toolcall",
		"internal/cli", "internal/app", "internal/auth", "internal/organization", "internal/telemetry",
		"internal/config", "internal/keyring", "internal/audit", "internal/audit/ledger", "internal/audit/witness",
		"internal/principal", "internal/database", "internal/secret", "web",
	),
	row("internal/cli/writ",
		"internal/cli/credentials", "internal/cli", "internal/node", "internal/manifest", "internal/audit/ledger",
		"client", "internal/cli/run", "internal/confine/proxy", "internal/confine/sandbox",
		"internal/cli/hooks", "internal/hook", "internal/hook/all", "internal/hook/doctor", "internal/hook/guardfile",
		"internal/hook/install",
		"internal/mcp/bridge", "internal/mcp/discovery", "internal/mcp/sarif", "internal/mcp/scan",
		"internal/mcp/source", "internal/intent/trust",
	),
	row("internal/hook/doctor",
		"client", "internal/hook", "internal/hook/gemini", "internal/hook/guardfile", "internal/hook/install",
		"internal/hook/setup", "internal/hook/spool",
	),
	row("internal/hook/install", "internal/hook/guardfile", "internal/hook/private", "internal/hook/setup"),
	row("internal/hook/all",
		"internal/hook", "internal/hook/aftertool", "internal/hook/beforetool", "internal/hook/guardfile",
		"internal/hook/lists", "internal/hook/plainhttp", "internal/hook/tlshttp", "internal/hook/turns",
	),
	row("internal/hook/turns",
		"client", "internal/hook", "internal/hook/bounded", "internal/hook/gemini", "internal/hook/guardfile",
		"internal/hook/state", "internal/hook/selection", "internal/hook/spool", "internal/hook/transcript",
		"internal/redaction",
	),
	row("internal/cli/hooks", "internal/hook", "internal/hook/aftertool", "internal/hook/beforetool",
		"internal/hook/guardfile", "internal/hook/plainhttp", "internal/hook/selection"),
	row("internal/hook/aftertool",
		"internal/hook", "internal/hook/bounded", "internal/hook/gemini", "internal/hook/guardfile",
		"internal/hook/private", "internal/hook/spool", "internal/hook/state", "internal/redaction",
		"internal/confine/sandbox",
	),
	row("internal/hook/selection", "internal/hook", "internal/hook/gemini", "internal/hook/guardfile",
		"internal/hook/state"),
	row("internal/hook/beforetool", "internal/hook", "internal/hook/gemini", "internal/hook/guardfile",
		"internal/hook/selfguard", "internal/hook/state", "internal/confine", "internal/toolname"),
	row("internal/hook/selfguard", "internal/hook/gemini"),
	row("internal/hook/lists", "internal/manifest", "internal/glob", "internal/toolname"),
	row("internal/hook/setup", "internal/hook", "internal/hook/gemini", "internal/hook/guardfile",
		"internal/hook/launch"),
	row("internal/hook/launch"),
	row("internal/hook/plainhttp"),
	row("internal/hook/tlshttp"),
	row("internal/hook", "internal/hook/gemini", "internal/hook/guardfile"),
	row("internal/hook/gemini"),
	row("internal/hook/bounded"),
	row("internal/hook/guardfile", "internal/hook/private"),
	row("internal/hook/state", "internal/hook/private", "internal/canonical"),
	row("internal/hook/spool", "internal/hook/private"),
	row("internal/hook/transcript", "internal/hook/private"),
	row("internal/hook/private"),
	row("internal/cli/run", "internal/cli/printable", "internal/confine/sandbox"),
	row("internal/cli/credentials"),
	row("internal/cli", "internal/cli/printable", "internal/fault"),
	row("internal/cli/printable"),
	row("internal/testserver",
		"internal/app", "client", "internal/apikey", "internal/auth", "internal/auth/totp", "internal/throttle",
		"internal/config", "internal/mail", "internal/audit", "internal/principal",
		"internal/database/dbtest", "internal/database", "internal/secret",
	),
	row("internal/hook/hosttest"),

	// Assembly.
	row("internal/app",
		"internal/connection", "internal/carrier", "internal/certificate", "internal/gateway", "internal/oauth",
		"internal/guard", "internal/guard/remote", "internal/api/route", "internal/api/standalone",
		"internal/mcp", "internal/mcp/definition", "internal/mcp/discovery", "internal/mcp/upstream",
		"internal/policy/drafting", "internal/policy/drafting/model",
		"internal/policy", "internal/policy/document", "internal/policy/template",
		"internal/enforcement", "internal/replay", "internal/approval", "internal/decision",
		"internal/execution", "internal/projection",
		"internal/notification", "internal/notification/notice", "internal/notification/webhook", "internal/forwarding",
		"internal/outbound",
		"internal/api", "internal/telemetry", "internal/auth", "internal/auth/account", "internal/auth/federation",
		"internal/organization", "internal/apikey", "internal/agent", "internal/agent/lease", "internal/intent",
		"internal/throttle", "internal/intent/scope", "internal/operator", "internal/accessrequest", "internal/blog",
		"internal/referral", "internal/config", "internal/keyring", "internal/mail", "internal/audit",
		"internal/audit/witness",
		"internal/principal", "internal/database", "internal/secret", "internal/fault",
	),

	// Edges.
	row("internal/api",
		"internal/api/guard", "internal/guard",
		"internal/api/proxy", "internal/gateway",
		"internal/api/servers", "internal/mcp", "internal/api/invoke", "internal/carrier",
		"internal/api/oauth", "internal/oauth", "internal/api/certificates", "internal/certificate",
		"internal/api/connections", "internal/connection",
		"internal/api/accounts", "internal/api/organizations", "internal/api/policies", "internal/api/decisions",
		"internal/api/approvals", "internal/api/traces", "internal/api/notifications", "internal/api/auditlog",
		"internal/api/agents", "internal/api/search", "internal/agent", "internal/operator",
		"internal/api/accessrequests", "internal/accessrequest", "internal/api/blog", "internal/blog",
		"internal/api/referrals", "internal/referral", "internal/api/users", "internal/auth/account",
		"internal/api/admission", "internal/api/route", "internal/demo", "client",
		"internal/policy", "internal/policy/drafting", "internal/intent", "internal/verdict",
		"internal/enforcement", "internal/replay", "internal/approval", "internal/execution",
		"internal/audit", "internal/notification", "internal/notification/webhook", "internal/forwarding",
		"internal/telemetry", "internal/auth", "internal/auth/federation", "internal/organization",
		"internal/apikey", "internal/throttle", "internal/principal", "internal/database",
		"internal/secret", "internal/fault", "web",
	),
	row("internal/api/agents",
		"internal/api/route", "internal/enforcement", "internal/agent", "internal/agent/lease", "internal/telemetry",
		"internal/throttle", "internal/principal", "internal/page", "internal/fault",
	),
	row("internal/api/standalone",
		"internal/api/admission", "internal/api/invoke", "internal/api/proxy", "internal/api/route", "internal/carrier",
		"internal/credential", "internal/fault", "internal/gateway", "internal/guard/remote", "internal/oauth",
		"internal/principal", "internal/secret",
	),
	row("internal/api/proxy",
		"internal/api/route", "internal/carrier", "internal/fault", "internal/gateway", "internal/mcp/upstream",
		"internal/oauth", "internal/principal", "internal/secret", "internal/verdict",
	),
	row("internal/api/guard",
		"internal/api/route", "internal/approval", "internal/database", "internal/decision", "internal/enforcement",
		"internal/execution", "internal/fault", "internal/guard", "internal/guard/message", "internal/mcp",
		"internal/oauth", "internal/policy", "internal/principal", "internal/secret", "internal/toolname",
	),
	row("internal/gateway",
		"internal/approval", "internal/audit", "internal/carrier", "internal/enforcement", "internal/fault",
		"internal/intent/plan", "internal/mcp", "internal/mcp/definition", "internal/mcp/upstream",
		"internal/principal", "internal/toolname", "internal/verdict",
	),
	row("internal/api/servers",
		"internal/api/route", "internal/enforcement", "internal/mcp", "internal/mcp/definition", "internal/telemetry",
		"internal/throttle", "internal/principal", "internal/secret", "internal/toolclass", "internal/toolname",
		"internal/fault",
	),
	row("internal/api/invoke",
		"internal/api/decisions", "internal/api/policies", "internal/api/route", "internal/carrier",
		"internal/enforcement", "internal/intent/plan", "internal/policy", "internal/mcp", "internal/mcp/upstream",
		"internal/decision", "internal/verdict", "internal/audit/ledger", "internal/principal", "internal/canonical",
		"internal/names", "internal/fault",
	),
	row("internal/api/certificates",
		"internal/api/route", "internal/certificate", "internal/certificate/authority", "internal/throttle",
		"internal/principal", "internal/page", "internal/fault",
	),
	row("internal/api/oauth",
		"internal/api/admission", "internal/api/route", "internal/oauth", "internal/agent", "internal/throttle",
		"internal/credential", "internal/principal", "internal/page", "internal/fault",
	),
	row("internal/api/connections",
		"internal/api/admission", "internal/api/route", "internal/connection", "internal/mcp", "internal/page",
		"internal/principal", "internal/throttle",
	),
	row("internal/api/decisions",
		"internal/mcp",
		"internal/agent", "internal/api/policies", "internal/api/route", "internal/enforcement", "internal/execution",
		"internal/intent",
		"internal/intent/plan", "internal/organization", "internal/policy", "internal/policy/clientpolicy",
		"internal/intent/grounding",
		"internal/policy/document", "internal/decision", "internal/verdict", "internal/audit/ledger",
		"internal/throttle", "internal/principal", "internal/page", "internal/canonical", "internal/redaction",
		"internal/fault", "internal/toolname", "internal/toolcall", "internal/manifest",
	),
	row("internal/api/approvals",
		"internal/api/policies", "internal/api/route", "internal/enforcement", "internal/approval",
		"internal/approval/pattern", "internal/apikey", "internal/intent", "internal/intent/plan",
		"internal/organization", "internal/policy", "internal/decision", "internal/audit", "internal/throttle",
		"internal/principal", "internal/database", "internal/page",
		"internal/fault",
	),
	row("internal/api/policies",
		"internal/api/route", "internal/enforcement", "internal/replay", "internal/policy", "internal/policy/document",
		"internal/policy/drafting", "internal/policy/engine", "internal/policy/lint", "internal/policy/policytest",
		"internal/policy/profile", "internal/policy/suggest", "internal/policy/template", "internal/intent",
		"internal/organization", "internal/toolcall", "internal/verdict", "internal/audit", "internal/throttle",
		"internal/principal", "internal/database", "internal/page", "internal/fault", "internal/confine",
	),
	row("internal/api/referrals", "internal/api/route", "internal/referral", "internal/throttle", "internal/principal"),
	row("internal/api/blog",
		"internal/api/route", "internal/blog", "internal/blog/markdown", "internal/principal", "internal/page",
	),
	row("internal/api/accessrequests",
		"internal/api/admission", "internal/api/route", "internal/accessrequest", "internal/organization",
		"internal/throttle", "internal/principal", "internal/page", "internal/fault",
	),
	row("internal/api/accounts",
		"internal/api/organizations", "internal/accessrequest", "internal/api/admission", "internal/api/route",
		"internal/auth", "internal/auth/federation", "internal/organization", "internal/apikey",
		"internal/throttle", "internal/principal", "internal/database", "internal/email", "internal/secret",
		"internal/fault",
	),
	row("internal/api/users",
		"internal/api/admission", "internal/api/route", "internal/auth", "internal/auth/account",
		"internal/auth/federation", "internal/organization", "internal/apikey", "internal/audit", "internal/throttle",
		"internal/principal", "internal/database", "internal/secret", "internal/fault",
	),
	row("internal/api/organizations",
		"internal/api/admission", "internal/api/route", "internal/organization", "internal/apikey", "internal/agent",
		"internal/auth", "internal/throttle", "internal/principal", "internal/database", "internal/page",
		"internal/fault",
	),
	row("internal/api/notifications",
		"internal/api/route", "internal/notification", "internal/notification/notice", "internal/notification/webhook",
		"internal/throttle", "internal/principal", "internal/page", "internal/fault",
	),
	row("internal/api/auditlog",
		"internal/api/admission", "internal/api/route", "internal/audit", "internal/audit/ledger", "internal/decision",
		"internal/execution", "internal/principal", "internal/database", "internal/page", "internal/fault",
		"internal/throttle",
	),
	row("internal/api/search",
		"internal/api/route", "internal/agent", "internal/audit", "internal/intent", "internal/organization",
		"internal/policy", "internal/telemetry", "internal/principal", "internal/database", "internal/page",
		"internal/fault",
	),
	row("internal/api/traces",
		"internal/api/route", "internal/telemetry", "internal/otlp", "internal/forwarding", "internal/decision",
		"internal/audit", "internal/throttle", "internal/principal", "internal/database", "internal/page",
		"internal/secret", "internal/csvsafe", "internal/fault",
	),
	row("internal/api/admission",
		"internal/api/route", "internal/organization", "internal/credential", "internal/principal", "internal/secret",
		"internal/fault",
	),
	row("internal/api/route", "internal/throttle", "internal/principal", "internal/page", "internal/fault"),
	row("internal/credential", "internal/fault"),
	row("web"),
	row("web/e2e/sdkclient"),

	// What calls the routes from outside, and the demo that calls them in the process.
	row("internal/demo", "client"),
	row("client"),

	// What a proxy in a process of its own asks of the server.
	row("internal/guard/remote",
		"internal/guard/message", "internal/carrier", "internal/enforcement", "internal/execution", "internal/approval",
		"internal/mcp", "internal/policy", "internal/audit", "internal/principal", "internal/secret",
		"internal/toolname",
		"internal/verdict", "internal/fault",
	),
	row("internal/guard/message",
		"internal/enforcement", "internal/execution", "internal/mcp", "internal/policy", "internal/policy/document",
		"internal/intent/plan", "internal/obligation", "internal/verdict", "internal/audit", "internal/audit/ledger",
		"internal/fault", "internal/intent",
	),

	// Carrying out what was decided.
	row("internal/carrier",
		"internal/enforcement", "internal/secret", "internal/execution", "internal/policy",
		"internal/mcp", "internal/mcp/definition", "internal/mcp/scan", "internal/mcp/upstream",
		"internal/redaction", "internal/principal", "internal/fault",
		"internal/obligation", "internal/verdict",
	),

	// The decision: the one place below the edge that composes areas, because
	// every surface must ask the same question.
	row("internal/enforcement",
		"internal/mcp",
		"internal/agent", "internal/agent/lease", "internal/policy", "internal/policy/document",
		"internal/policy/engine", "internal/policy/clientpolicy",
		"internal/intent", "internal/intent/plan", "internal/approval", "internal/organization", "internal/decision",
		"internal/intent/scope", "internal/intent/grounding", "internal/intent/trust",
		"internal/toolcall", "internal/verdict", "internal/redaction",
		"internal/audit", "internal/audit/ledger", "internal/principal", "internal/database",
		"internal/arguments", "internal/names", "internal/fault", "internal/toolname", "internal/confine",
		"internal/obligation",
	),

	// What composes areas behind the scenes.
	row("internal/forwarding",
		"internal/forwarding/message", "internal/telemetry", "internal/decision", "internal/projection",
		"internal/verdict", "internal/outbound", "internal/dispatch", "internal/redaction",
		"internal/audit", "internal/principal", "internal/database", "internal/secret", "internal/fault",
	),
	row("internal/forwarding/message"),
	row("internal/projection",
		"internal/telemetry", "internal/decision", "internal/verdict", "internal/audit", "internal/database",
		"internal/canonical",
	),

	row("internal/replay",
		"internal/policy", "internal/policy/document", "internal/policy/engine", "internal/policy/lint",
		"internal/policy/suggest", "internal/decision", "internal/intent/plan", "internal/organization",
		"internal/toolcall", "internal/verdict", "internal/redaction",
		"internal/audit", "internal/principal", "internal/database", "internal/fault", "internal/toolname",
	),

	// Areas.
	row("internal/agent",
		"internal/agent/lease", "internal/redaction", "internal/audit", "internal/audit/ledger", "internal/principal",
		"internal/database", "internal/page", "internal/toolname", "internal/names", "internal/fault",
	),
	row("internal/agent/lease", "internal/jwtform"),
	row("internal/mcp",
		"internal/mcp/definition", "internal/mcp/discovery", "internal/mcp/scan", "internal/dispatch",
		"internal/redaction", "internal/audit", "internal/principal", "internal/database", "internal/canonical",
		"internal/names", "internal/secret", "internal/toolname", "internal/fault",
	),
	row("internal/certificate",
		"internal/certificate/authority", "internal/audit", "internal/principal", "internal/database", "internal/page",
		"internal/secret", "internal/names", "internal/fault",
	),
	row("internal/certificate/authority"),
	row("internal/connection",
		"internal/audit", "internal/principal", "internal/database", "internal/page", "internal/secret",
		"internal/fault",
	),
	row("internal/guard",
		"internal/obligation", "internal/secret", "internal/audit", "internal/principal", "internal/database",
		"internal/fault",
	),
	row("internal/oauth",
		"internal/audit", "internal/principal", "internal/database", "internal/page", "internal/names",
		"internal/secret", "internal/fault",
	),
	row("internal/mcp/bridge"),
	row("internal/mcp/discovery", "internal/mcp/definition", "internal/outbound"),
	row("internal/mcp/upstream", "internal/mcp/definition", "internal/outbound", "internal/secret", "internal/fault"),
	row("internal/approval",
		"internal/approval/risk", "internal/approval/pattern", "internal/policy/document", "internal/intent/plan",
		"internal/intent/grounding", "internal/redaction",
		"internal/audit", "internal/principal", "internal/database", "internal/page",
		"internal/arguments", "internal/names", "internal/fault", "internal/toolname",
	),
	row("internal/approval/pattern",
		"internal/canonical", "internal/names", "internal/redaction", "internal/fault"),
	row("internal/approval/risk", "internal/intent/grounding", "internal/toolclass", "internal/toolcall",
		"internal/verdict", "internal/redaction", "internal/audit", "internal/database"),
	row("internal/otlp", "internal/telemetry/decode", "internal/fault"),
	row("internal/telemetry", "internal/telemetry/decode", "internal/database", "internal/page"),
	row("internal/telemetry/decode", "internal/fault"),
	row("internal/policy",
		"internal/policy/document", "internal/node", "internal/policy/engine",
		"internal/policy/lint", "internal/policy/profile",
		"internal/decision", "internal/toolcall", "internal/verdict",
		"internal/audit", "internal/principal", "internal/database", "internal/page", "internal/fault",
		"internal/toolname", "internal/canonical",
		"internal/obligation",
	),
	row("internal/policy/profile", "internal/policy/document", "internal/node", "internal/verdict",
		"internal/canonical"),
	row("internal/policy/suggest", "internal/policy/document", "internal/toolcall", "internal/verdict",
		"internal/redaction"),
	row("internal/policy/drafting/model", "internal/policy/drafting", "internal/outbound", "internal/secret",
		"internal/fault"),
	row("internal/policy/drafting",
		"internal/policy/template", "internal/policy/lint", "internal/policy/policytest", "internal/policy/engine",
		"internal/policy/document", "internal/node",
		"internal/redaction", "internal/verdict", "internal/fault",
	),
	row("internal/policy/lint", "internal/policy/engine", "internal/policy/document",
		"internal/toolcall", "internal/verdict"),
	row("internal/policy/clientpolicy", "internal/policy/engine", "internal/policy/document", "internal/glob",
		"internal/toolcall", "internal/verdict", "internal/toolname"),
	row("internal/policy/template", "internal/policy/document"),
	row("internal/policy/policytest",
		"internal/policy/engine", "internal/policy/document", "internal/node",
		"internal/toolcall", "internal/verdict", "internal/confine",
		"internal/obligation",
	),
	row("internal/policy/engine", "internal/policy/expression", "internal/policy/document", "internal/glob",
		"internal/toolcall", "internal/verdict", "internal/toolname", "internal/confine",
		"internal/obligation"),
	row("internal/policy/expression", "internal/policy/shell", "internal/glob", "internal/toolcall"),
	row("internal/policy/document", "internal/node", "internal/glob", "internal/verdict",
		"internal/confine",
		"internal/obligation"),
	row("internal/manifest", "internal/node", "internal/secret"),
	row("internal/glob"),
	row("internal/policy/shell/evasion"),
	row("internal/policy/shell"),
	row("internal/auth/account",
		"internal/auth", "internal/audit", "internal/mail", "internal/principal", "internal/database",
		"internal/email", "internal/secret", "internal/fault",
	),
	row("internal/auth/federation",
		"internal/auth", "internal/auth/oidc", "internal/audit", "internal/principal",
		"internal/database", "internal/email", "internal/secret", "internal/fault",
	),
	row("internal/auth",
		"internal/auth/accesstoken", "internal/auth/secondfactor", "internal/auth/totp", "internal/keyring",
		"internal/mail", "internal/audit", "internal/principal",
		"internal/database", "internal/email", "internal/secret", "internal/fault",
	),
	row("internal/auth/accesstoken", "internal/jwtform"),
	row("internal/auth/secondfactor", "internal/auth/totp", "internal/database", "internal/secret", "internal/fault"),
	row("internal/auth/totp"),
	row("internal/auth/oidc", "internal/secret", "internal/fault"),
	row("internal/organization",
		"internal/mail", "internal/audit", "internal/principal", "internal/database",
		"internal/page", "internal/email", "internal/secret", "internal/fault",
	),
	row("internal/accessrequest",
		"internal/mail", "internal/audit", "internal/principal", "internal/database", "internal/page", "internal/email",
		"internal/secret", "internal/fault",
	),
	row("internal/blog", "internal/audit", "internal/principal", "internal/database", "internal/page",
		"internal/fault"),
	row("internal/blog/markdown"),
	row("internal/referral", "internal/audit", "internal/principal", "internal/database", "internal/fault"),
	row("internal/operator", "internal/audit", "internal/principal", "internal/database", "internal/fault"),
	row("internal/execution",
		"internal/decision", "internal/intent/plan", "internal/intent/scope", "internal/toolname", "internal/verdict",
		"internal/redaction", "internal/confine",
		"internal/audit", "internal/principal", "internal/database", "internal/page", "internal/canonical",
		"internal/names", "internal/fault",
	),
	row("internal/notification",
		"internal/notification/webhook", "internal/notification/notice", "internal/mail", "internal/audit",
		"internal/principal",
		"internal/database", "internal/page", "internal/fault",
	),
	row("internal/notification/webhook",
		"internal/notification/notice", "internal/outbound", "internal/dispatch", "internal/redaction",
		"internal/audit", "internal/principal", "internal/database",
		"internal/page", "internal/secret", "internal/fault",
	),
	row("internal/notification/notice"),
	row("internal/intent",
		"internal/intent/ticket", "internal/intent/plan", "internal/intent/scope", "internal/intent/grounding",
		"internal/intent/trust",
		"internal/redaction",
		"internal/keyring", "internal/audit", "internal/principal",
		"internal/database", "internal/page", "internal/canonical", "internal/secret", "internal/names",
		"internal/fault",
	),
	row("internal/intent/ticket", "internal/jwtform"),
	row("internal/intent/trust", "internal/intent/plan"),
	row("internal/arguments", "internal/intent/plan", "internal/toolcall", "internal/redaction", "internal/canonical"),
	row("internal/intent/plan",
		"internal/jwtform", "internal/canonical", "internal/names", "internal/fault", "internal/toolname"),
	row("internal/apikey",
		"internal/audit", "internal/principal", "internal/database",
		"internal/page", "internal/secret", "internal/fault",
	),

	// What areas and edges share.
	row("internal/intent/scope", "internal/intent/grounding", "internal/toolcall", "internal/audit",
		"internal/database",
		"internal/secret", "internal/fault"),
	row("internal/decision", "internal/intent/grounding", "internal/audit", "internal/audit/ledger",
		"internal/principal", "internal/database",
		"internal/canonical", "internal/verdict", "internal/confine",
		"internal/obligation"),
	row("internal/throttle", "internal/database", "internal/fault"),
	row("internal/dispatch"),
	row("internal/config", "internal/outbound", "internal/secret"),
	row("internal/keyring", "internal/audit", "internal/principal", "internal/database", "internal/secret",
		"internal/fault"),
	row("internal/mail", "internal/secret", "internal/fault"),
	row("internal/testenv", "internal/audit", "internal/principal", "internal/database", "internal/database/dbtest",
		"internal/secret", "internal/fault"),
	row("internal/audit",
		"internal/audit/ledger", "internal/principal", "internal/database", "internal/page", "internal/canonical",
		"internal/fault",
	),
	row("internal/audit/witness", "internal/audit/ledger", "internal/outbound", "internal/secret"),
	row("internal/audit/ledger", "internal/canonical", "internal/toolname"),
	row("internal/principal", "internal/fault"),

	row("internal/mcp/sarif", "internal/mcp/scan"),
	row("internal/mcp/source", "internal/mcp/definition", "internal/mcp/scan"),
	row("internal/mcp/scan", "internal/mcp/definition", "internal/toolclass", "internal/intent/grounding"),
	row("internal/mcp/definition", "internal/canonical", "internal/names"),
	row("internal/toolclass", "internal/intent/grounding"),
	row("internal/intent/grounding", "internal/node"),
	row("internal/node"),

	row("internal/confine/proxy", "internal/confine/sandbox", "internal/outbound"),
	row("internal/confine/sandbox", "internal/confine"),
	row("internal/confine"),
	row("internal/obligation"),
	row("internal/toolcall"),
	row("internal/verdict"),

	// Storage.
	row("internal/database/dbtest", "internal/database"),
	row("internal/database", "internal/fault"),

	// The ground.
	row("internal/page", "internal/fault"),
	row("internal/email", "internal/fault"),
	row("internal/outbound/nametest"),
	row("internal/outbound"),
	row("internal/secret"),
	row("internal/names"),
	row("internal/toolname"),
	row("internal/csvsafe"),
	row("internal/jwtform"),
	row("internal/canonical"),
	row("internal/redaction"),
	row("internal/fault"),
	row("internal/layout/measure", "internal/layout"),
	row("internal/layout"),
}

// floors are what areas and joins stand on: the ground, and what they share. The
// fan-out of a package does not count them.
var floors = []string{
	"internal/decision", "internal/toolcall", "internal/verdict",
	"internal/audit", "internal/audit/ledger", "internal/keyring", "internal/throttle", "internal/dispatch",
	"internal/mail", "internal/config", "internal/principal", "internal/credential",
	"internal/database", "internal/page", "internal/email", "internal/outbound", "internal/secret", "internal/csvsafe",
	"internal/canonical", "internal/redaction", "internal/fault",
}

// assembly is where everything comes together: the one decision, the edge, the
// server and its programs.
var assembly = []string{
	"internal/enforcement", "internal/api", "internal/app", "internal/cli/writd", "internal/cli/writ",
}

// notInClient is what writ must not link: it is started for every tool call of
// an agent, so its start-up time is a user's waiting time.
var notInClient = []string{
	"modernc.org/sqlite",
	"github.com/jackc/pgx",
	"cel.dev/cel-go",
	"github.com/google/cel-go",
	"database/sql",
	"google.golang.org/protobuf",
	"writ/internal/database",
	"writ/internal/policy",
}

// yamlReader is the one package of policies that writ links: it reads plans.
const yamlReader = "writ/internal/node"

func TestTable(t *testing.T) {
	t.Parallel()
	report(t, layout.CheckTable(table))
}

func TestPackages(t *testing.T) {
	t.Parallel()
	packages, err := layout.Load(t.Context(), ".")
	if err != nil {
		t.Fatalf("load our packages: %v", err)
	}
	report(t, layout.CheckImports(table, packages))
	report(t, layout.CheckUnused(table, packages))
	report(t, layout.CheckFanOut(packages, floors, assembly, layout.MaxFanOut))
	report(t, layout.CheckDocs(packages))
	report(t, layout.CheckLengths(packages, maxLines))
}

func TestStyle(t *testing.T) {
	t.Parallel()
	sources, err := layout.Sources(".")
	if err != nil {
		t.Fatalf("read our sources: %v", err)
	}
	report(t, layout.CheckStyle(sources))
}

// mcpSDK takes a millisecond to start, and the hooks of writ have none to give.
var mcpSDK = []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go"}

// onlyTests is what tests alone link.
var onlyTests = []string{"github.com/santhosh-tekuri/jsonschema"}

// slowToStart are packages whose initialization takes long. That of regexp does not: the patterns of redaction are made
// when a text looks as if they were needed.
var slowToStart = []string{"net/http", "crypto/tls", "crypto/x509", "github.com/spf13"}

// TestProgramsLinkTheirOwn: writ starts before every tool call of an agent.
func TestProgramsLinkTheirOwn(t *testing.T) {
	t.Parallel()
	for program, mustNot := range map[string][]string{
		"writ":        slices.Concat(notInClient, mcpSDK, onlyTests, slowToStart),
		"writ-client": slices.Concat(notInClient, onlyTests),
		"writ-plan":   slices.Concat(notInClient, onlyTests),
		"writd":       onlyTests,
	} {
		linked, err := layout.Linked(t.Context(), ".", "./cmd/"+program)
		if err != nil {
			t.Fatalf("list what %s links: %v", program, err)
		}
		linked = slices.DeleteFunc(linked, func(path string) bool { return path == yamlReader })
		report(t, layout.CheckLinked(program, linked, mustNot))
	}
}

func row(path string, mayImport ...string) layout.Row {
	return layout.Row{Package: path, MayImport: mayImport}
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, problem := range problems {
		t.Error(problem)
	}
}
