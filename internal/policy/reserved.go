package policy

// The PolicyID of decisions that no policy made.
const (
	ByAgent    = "writ:agent"    // the API key is no longer valid, or the agent may not act
	ByIntent   = "writ:intent"   // the call is not in the plan
	ByApproval = "writ:approval" // a grant or standing approval
	ByMCP      = "writ:mcp"      // the registry of MCP servers: a denied server, or a tool that nobody has accepted
	ByDefault  = "writ:default"  // no policy applies
)
