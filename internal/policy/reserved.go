package policy

// Who decided where no policy did.
const (
	ByAgent    = "writ:agent"    // the agent is killed or suspended
	ByIntent   = "writ:intent"   // the call is not in the plan
	ByApproval = "writ:approval" // a grant or temporary allow
	ByDefault  = "writ:default"  // no policy counts
)
