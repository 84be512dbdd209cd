package setup

import (
	"maps"

	"writ/internal/hook/guardfile"
)

// contextFile is what the host tells the model in every session.
const contextFile = `# Writ

Writ guards this session: a tool runs only if a plan names it and a policy permits it.

- Before other tools, call register_intent_plan of the server writ. Name every tool that you will use for the person's request,
  with the arguments that you know already.
- When Writ denies a call, read the reason. Amend the plan and say why, or ask the person. Do not look for a way around it.
- A call that is held waits for a person. Say so, and go on with something else.
`

// Extension is the extension's folder: files by their path in it. In a folder that is not trusted the host
// runs only hooks of extensions, so that they are here too, under the same name and with the same command.
func Extension(guard *guardfile.File) map[string]string {
	hooks := map[string][]Group{}
	for _, e := range events {
		hooks[e.name] = []Group{groupOf(guard, e.event)}
	}
	files := map[string]string{
		"gemini-extension.json": marshal("", map[string]any{
			"name":            Name,
			"version":         "1.0.0",
			"description":     "Tools run only as planned and permitted.",
			"contextFileName": "WRIT.md",
			"mcpServers": map[string]any{Name: map[string]any{
				"command": guard.PlanServer,
				"args":    []string{"--config", guard.Path()},
				"cwd":     "${extensionPath}",
			}},
		}) + "\n",
		"hooks/hooks.json": marshal("", map[string]any{"hooks": hooks}) + "\n",
		"WRIT.md":          contextFile,
	}
	maps.Copy(files, slashFiles(guard))
	return files
}
