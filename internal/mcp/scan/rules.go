package scan

// Rule is one kind of finding. Its id is stable: acceptances and CI name it.
type Rule struct {
	ID       string
	Severity Severity // unless a finding says otherwise
	Title    string
	Advice   string
	OWASP    []string
	SAFEMCP  []string
}

// rules are all rules, in the order of the documentation.
var rules []*Rule

// Rules are all rules.
func Rules() []*Rule { return rules }

func rule(id string, severity Severity, title, advice string, owasp, safe []string) *Rule {
	r := &Rule{
		ID:       id,
		Severity: severity,
		Title:    title,
		Advice:   advice,
		OWASP:    owasp,
		SAFEMCP:  safe,
	}
	rules = append(rules, r)
	return r
}

func ids(list ...string) []string { return list }

// What a person can do about whole families of findings.
const (
	refuseText = "Do not let agents use this server until its author explains the text. A description says what a tool does; it gives the model no orders."
	lookHidden = "Read the text with its hidden characters shown. Honest descriptions need none: ask the author to remove them."
)

// Text that gives orders to the model.
var (
	instructionOverride = rule("instruction-override", Critical,
		"The text tells the model to disregard its instructions", refuseText,
		ids("MCP03:2025", "MCP06:2025", "LLM01:2025"), ids("SAFE-T1001", "SAFE-T1102"))
	instructionSecrecy = rule("instruction-secrecy", Critical,
		"The text tells the model to hide something from the user", refuseText,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1001", "SAFE-T1404"))
	instructionRole = rule("instruction-role", High,
		"The text imitates messages of the system, the user or the client", refuseText,
		ids("MCP03:2025", "MCP06:2025", "LLM01:2025"), ids("SAFE-T1001", "SAFE-T1401"))
	instructionSequence = rule("instruction-sequence", Medium,
		"The text tells the model to use this tool, or do something, around every other call",
		"Check what that call receives. A tool that sees every conversation can read all of it: refuse it unless you want that.",
		ids("MCP03:2025", "MCP06:2025", "LLM01:2025"), ids("SAFE-T1001", "SAFE-T1401"))
	instructionApproval = rule("instruction-approval", High,
		"The text tells the model not to ask for confirmation, or says that the user has agreed already",
		"Refuse it. Whether a person is asked is for policies to say, never for a tool.",
		ids("MCP03:2025", "MCP07:2025", "LLM01:2025", "LLM06:2025"), ids("SAFE-T1309", "SAFE-T1403"))
	instructionSuspected = rule("instruction-suspected", Medium,
		"Several signs together look like orders to the model",
		"Read the whole text as a model would. If it says more than what the tool does, ask the author to remove that.",
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1001"))
)

// Requests for what the tool has no need of, and ways out.
var (
	_ = rule("request-secret", Critical,
		"The text asks the model for passwords, keys or other secrets",
		"Refuse it. Secrets belong in the server's own configuration; a model must never pass them on.",
		ids("MCP01:2025", "MCP03:2025", "LLM02:2025"), ids("SAFE-T1501", "SAFE-T1503"))
	_ = rule("request-file", Critical,
		"The text asks the model for files that hold credentials",
		"Refuse it. No tool has a reason to want keys, credentials or the configuration of other tools.",
		ids("MCP01:2025", "MCP03:2025", "LLM02:2025"), ids("SAFE-T1001", "SAFE-T1502"))
	requestContext = rule("request-context", High,
		"The text asks the model for the conversation, its own prompt or its reasoning",
		"Refuse it unless the tool is about conversations, and you know where they go.",
		ids("MCP03:2025", "MCP10:2025", "LLM02:2025", "LLM07:2025"), ids("SAFE-T1603", "SAFE-T1911"))
	exfiltrationText = rule("exfiltration-text", Critical,
		"The text tells the model to send data to somebody",
		"Refuse it, and look whether the address is known to you. Deny calls that name it by a policy.",
		ids("MCP03:2025", "MCP10:2025", "LLM02:2025"), ids("SAFE-T1910", "SAFE-T1913"))
	exfiltrationParameter = rule("exfiltration-parameter", High,
		"A parameter is made to carry out what the tool has no need of",
		"Ask the author why the tool needs it. Until then deny calls that set it, by a rule over args.",
		ids("MCP03:2025", "MCP10:2025", "LLM02:2025"), ids("SAFE-T1501", "SAFE-T1911"))
	secretParameter = rule("secret-parameter", Low,
		"A parameter takes a password, key or token from the model",
		"Prefer a server that is given its credentials by its configuration, so that the model never sees them.",
		ids("MCP01:2025", "LLM02:2025"), ids("SAFE-T1501"))
)

// Text that a person does not see.
var (
	hiddenZeroWidth = rule("hidden-zero-width", High, "The text holds characters that do not show", lookHidden,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenBidi = rule("hidden-bidi", High, "The text holds characters that turn its direction", lookHidden,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenTags = rule("hidden-tags", Critical, "The text holds a second text of invisible characters", lookHidden,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenControl = rule("hidden-control", High, "The text holds characters that steer a terminal", lookHidden,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenMarkup = rule("hidden-markup", Medium, "The text holds a comment or markup that is not shown", lookHidden,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenHomoglyph = rule("hidden-homoglyph", High, "A word mixes letters of scripts that look alike",
		"Read the word letter by letter. Ask the author to write it in one script.",
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402", "SAFE-T1405"))
	hiddenFont = rule("hidden-font", Medium, "Words are written in symbols that look like letters", lookHidden,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenEncoding = rule("hidden-encoding", Critical, "An encoded text gives orders to the model", refuseText,
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1001", "SAFE-T1402"))
	hiddenPadding = rule("hidden-padding", Medium, "A long gap pushes text out of sight",
		"Read what stands behind the gap.",
		ids("MCP03:2025", "LLM01:2025"), ids("SAFE-T1402"))
	hiddenBytes = rule("hidden-bytes", Medium, "The text is not valid UTF-8",
		"Programs read such bytes differently. Ask the author to send valid text.",
		ids("MCP03:2025"), ids("SAFE-T1402"))
)
