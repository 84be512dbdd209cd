package setup

import "writ/internal/hook/guardfile"

// slash is a command that a person types into the host: /writ:NAME.
type slash struct {
	name, description string
	run               string // behind writ guard, in a shell of the host; empty: it shows text
	text              string
}

// showOnly is how the output of a program gets to the person: the host gives it to the model.
const showOnly = "Show the person the text below word for word, and nothing else. Call no tool.\n\n"

var slashes = []slash{
	{
		name: "list", description: "Show what guards this session, and what policies say about its tools",
		run: "list",
	},
	{
		name: "add", description: "Propose a rule: allow, deny or hold, then the tool, then why",
		run: "add",
	},
	{
		name: "template", description: "List the policies to begin with, or propose the one that you name",
		run: "template",
	},
	{
		name: "yes", description: "Say how to confirm what was proposed, and to approve what waits",
		run: "yes",
	},
	{
		name: "no", description: "Say how to withdraw what was proposed, and to reject what waits",
		run: "no",
	},
	{name: "help", description: "Explain these commands", text: slashHelp},
}

const slashHelp = `/writ:list             what guards this session, and what policies say about its tools
/writ:add deny TOOL    propose a rule: allow, deny or hold, then the tool, then why;
                       SERVER.TOOL of an MCP server, --program NAME of the shell
/writ:template NAME    propose a policy to begin with; without a name, list them
/writ:yes, /writ:no    how to confirm or withdraw a proposal, and to answer calls that wait

A proposal decides nothing until an owner or admin confirms it, in a terminal of their own or in the browser.
In a terminal: writ approvals list, writ guard, writ doctor.`

// slashFiles are the commands in the host's form, by their path in the extension.
func slashFiles(guard *guardfile.File) map[string]string {
	files := map[string]string{}
	for _, s := range slashes {
		files["commands/"+Name+"/"+s.name+".toml"] = s.file(guard)
	}
	return files
}

// file is a command in TOML, whose texts may be written as those of JSON. The host quotes what the person typed as one
// word of the shell.
func (s slash) file(guard *guardfile.File) string {
	text := s.text
	if s.run != "" {
		text = "!{" + quote(guard.Writ) + " guard " + s.run + " --config " + quote(guard.Path()) + " -- {{args}} 2>&1}"
	}
	return "description = " + marshal("", s.description) + "\nprompt = " + marshal("", showOnly+text+"\n") + "\n"
}
