package scan

// Names, and what one server says about another's tools.
var (
	nameCollision = rule("name-collision", High, "Two tools have the same name, and clients may call either",
		"Use one of the servers, or name tools with their server. Writ's policies name both: server.tool.",
		ids("MCP03:2025", "MCP09:2025"), ids("SAFE-T1004", "SAFE-T1301"))
	nameLookalike = rule("name-lookalike", High, "A name looks like another one but is not the same",
		"Compare them letter by letter, and refuse the one that imitates.",
		ids("MCP03:2025", "MCP09:2025"), ids("SAFE-T1004", "SAFE-T1301", "SAFE-T1405"))
	toolShadowing = rule("tool-shadowing", High, "The text says how the tools of others are to be used", refuseText,
		ids("MCP03:2025", "MCP06:2025", "LLM01:2025"), ids("SAFE-T1008", "SAFE-T1301"))
	toxicFlow = rule("toxic-flow", Medium,
		"Together the tools can carry private data out: untrusted input, private data and a way out",
		"Do not give all three to one agent. Hold the way out by a policy, or require a grounded plan.",
		ids("MCP06:2025", "MCP10:2025", "LLM01:2025", "LLM02:2025"), ids("SAFE-T1703", "SAFE-T1914"))
)

// What tools can do, and what they say of it.
var (
	toolDangerous = rule("tool-dangerous", Low, "The tool runs commands or code",
		"Give it only to agents that need it, and confine it: docs/shell.md.",
		ids("MCP02:2025", "MCP05:2025", "LLM06:2025"), ids("SAFE-T1104", "SAFE-T1302"))
	toolBroad = rule("tool-broad", Medium, "The tool reaches more than a task needs",
		"Limit what it may reach, on the server or by a policy over its arguments.",
		ids("MCP02:2025", "LLM06:2025"), ids("SAFE-T1104", "SAFE-T1105"))
	toolMisnamed = rule("tool-misnamed", Medium,
		"The name says that the tool reads, and a parameter is run as a command",
		"Treat it as a tool that runs commands: set its class to execute.",
		ids("MCP03:2025", "MCP05:2025", "LLM06:2025"), ids("SAFE-T1101", "SAFE-T1405"))
	annotationContradiction = rule("annotation-contradiction", High,
		"The annotations say that the tool is safer than its name or schema says",
		"Do not let annotations skip a confirmation. Set the tool's class yourself.",
		ids("MCP02:2025", "MCP03:2025", "LLM06:2025"), ids("SAFE-T1406"))
	schemaReference = rule("schema-reference", Medium, "The schema refers to a document elsewhere",
		"Its author can change that document without changing this definition. Ask for a schema that is whole.",
		ids("MCP03:2025", "MCP04:2025"), ids("SAFE-T1201", "SAFE-T1501"))
	schemaUnreadable = rule("schema-unreadable", Medium, "The schema cannot be read",
		"It is not valid JSON, or is nested too deep, and was not scanned behind that place. Ask the author to mend it.",
		ids("MCP03:2025"), ids("SAFE-T1501"))
)

// How a server is reached or started.
var (
	plainHTTP = rule("connection-plain-http", High, "The server is reached without TLS",
		"Use https. Whoever is on the way can read and change every call and definition.",
		ids("MCP01:2025", "MCP07:2025"), ids("SAFE-T1005"))
	noAuth = rule("connection-no-auth", Low, "The server asks for no credentials",
		"Anybody who reaches it can use it. Require a token, or keep it within your network.",
		ids("MCP07:2025"), ids("SAFE-T1005"))
	connectionSecret = rule("connection-secret", High, "A secret stands in the address or the command",
		"Take it out, and replace it: others have seen it in logs and lists of processes. Use a header or a variable.",
		ids("MCP01:2025", "LLM02:2025"), ids("SAFE-T1206", "SAFE-T1506"))
	commandDownload = rule("command-download", High, "The command runs what it downloads",
		"Install the program first, at a version that you have checked, and start that.",
		ids("MCP04:2025", "MCP05:2025", "LLM03:2025"), ids("SAFE-T1002", "SAFE-T1003"))
	commandUnpinned = rule("command-unpinned", Low, "The command starts whatever version is the newest",
		"Name an exact version, so that an update is a decision.",
		ids("MCP04:2025", "LLM03:2025"), ids("SAFE-T1002", "SAFE-T1207"))
	commandBroad = rule("command-broad", Medium, "The command gives the server more of the machine than a task needs",
		"Name the one directory that it needs, and drop privileges.",
		ids("MCP02:2025", "LLM06:2025"), ids("SAFE-T1104", "SAFE-T1303"))
	clientTrusts = rule("client-trusts", Medium, "The client is told to run this server's tools without asking",
		"Remove the setting, or make sure that Writ decides about each call.",
		ids("MCP02:2025", "MCP07:2025", "LLM06:2025"), ids("SAFE-T1104", "SAFE-T1403"))
)

// findingsDropped says that a report is not whole.
var findingsDropped = rule("findings-dropped", High, "There are more findings than a report holds",
	"Mend or refuse what is listed, then scan again.",
	ids("MCP03:2025"), ids("SAFE-T1001"))
