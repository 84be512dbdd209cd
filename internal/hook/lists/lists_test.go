package lists_test

import (
	"os"
	"path/filepath"
	"testing"

	"writ/internal/hook/lists"
)

func write(t *testing.T, policy string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.yaml")
	text := "version: v1\nidentity: {api_key: $KEY, user_id: ada, agent_id: gemini-cli}\n" + policy
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestForbid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy, server, tool string
		forbids              bool
	}{
		{"", "gemini-cli", "write_file", false},
		{"policy: {allow: [gemini-cli.read_file]}\n", "gemini-cli", "read_file", false},
		{"policy: {allow: [gemini-cli.read_file]}\n", "gemini-cli", "write_file", true},
		{"policy: {allow: [gemini-cli.read_file]}\n", "files", "read_file", true},
		{"policy: {allow: [gemini-cli.*], deny: [gemini-cli.run_shell_command]}\n", "gemini-cli", "write_file", false},
		{
			"policy: {allow: [gemini-cli.*], deny: [gemini-cli.run_shell_command]}\n", "gemini-cli",
			"run_shell_command", true,
		},
		{"policy: {deny: [files.write*]}\n", "files", "write_file", true},
		{"policy: {deny: [files.write*]}\n", "files", "read_file", true},
		{
			"policy: {allow: [gemini-cli.*], deny: [gemini-cli.grep_search]}\n", "gemini-cli",
			"search_file_content", true,
		},
		{
			"policy: {allow: [gemini-cli.*], deny: [gemini-cli.search_file_content]}\n", "gemini-cli",
			"grep_search", true,
		},
		{"policy: {allow: [gemini-cli.grep_search]}\n", "gemini-cli", "grep_search", false},
	} {
		l, err := lists.Read(write(t, c.policy))
		if err != nil {
			t.Fatal(err)
		}
		if reason := l.Forbid(c.server, c.tool); (reason != "") != c.forbids {
			t.Errorf("%s%s.%s: %q", c.policy, c.server, c.tool, reason)
		}
	}
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/no/such", write(t, "polcy: {}\n"), t.TempDir()} {
		if _, err := lists.Read(path); err == nil {
			t.Errorf("%s is read", path)
		}
	}
}
