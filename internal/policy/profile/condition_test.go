package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"writ/internal/verdict"
)

// conditionCases say of a condition and a call whether a permit with it matches,
// and whether a forbid does. Where a field cannot be known the forbid matches and
// the permit does not.
var conditionCases = []struct {
	condition, called, arguments string
	permits, forbids             bool
}{
	// Every program of the command is judged.
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"rm x"}`, true, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"/bin/rm x"}`, true, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"ls"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"ls; rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"env A=1 \\rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"sh -c 'rm x'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"echo $(rm x)"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"RM x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"$TOOL x"}`, false, true},

	// A program that starts another, described or not.
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"linux64 rm -rf build"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"i386 rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"choom -n 0 -- rm -rf build"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"sg root -c 'rm -rf build'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"sg root 'rm x'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"/lib64/ld-linux-x86-64.so.2 /bin/rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"linux32 sudo id"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"writ run --write . -- sudo id"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"writ run --write . -- bash -c 'sudo id'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"perf stat -e cycles -- rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"bwrap --bind / / rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"tini -- rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"xterm -e rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"dc -e '!rm x'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob /bin/rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob --exec=rm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob -crm x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob -c 'nice -n 5 rm x'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob --run='x=1; rm x'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob 'frob \"frob rm\"'"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"ls && FROB RM x"}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob x"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob rmdir x"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob src/rm.go"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"frob --message=rmx"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"go build ./..."}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"npm test"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"git commit -m 'rm old files'"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"echo 'rm x'"}`, false, false},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":"grep -r rm ."}`, false, false},
	{`bash.program matches "^mkfs"`, "Bash", `{"command":"frob mkfs.ext4 /dev/sda"}`, false, true},
	{`bash.program not_in ["frob"]`, "Bash", `{"command":"frob rm x"}`, false, false},
	{`bash.program in ["frob"]`, "Bash", `{"command":"frob rm x"}`, true, true},

	{`bash.program in ["rm","sudo"]`, "Bash", `{}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":["rm","x"]}`, false, true},
	{`bash.program in ["rm","sudo"]`, "Bash", `{"command":7}`, false, true},
	{`bash.program in ["rm","sudo"]`, "exec_command", `{"cmd":"rm x"}`, true, true},
	{`bash.program in ["rm","sudo"]`, "exec_command", `{"cmd":"rm x","command":"ls"}`, false, true},
	{`bash.program eq "git"`, "run_shell_command", `{"command":"git status"}`, true, true},
	{`bash.program not_in ["ls"]`, "Bash", `{"command":"ls && rm x"}`, false, true},
	{`bash.program not_in ["ls"]`, "Bash", `{"command":"rm x"}`, true, true},
	{`bash.program not_in ["ls"]`, "Bash", `{"command":"ls"}`, false, false},
	{`bash.program matches "^mkfs"`, "Bash", `{"command":"mkfs.ext4 /dev/sda"}`, true, true},
	{`bash.program not_matches "^mkfs"`, "Bash", `{"command":"ls"}`, true, true},
	{`bash.program not_matches "^mkfs"`, "Bash", `{"command":"ls; mkfs.ext4 x"}`, false, true},
	{`bash.program starts_with "npm"`, "Bash", `{"command":"npm test"}`, true, true},

	// A program is known by its name where the agent did not put it there.
	{`bash.program eq "git"`, "Bash", `{"command":"/usr/bin/git status"}`, true, true},
	{`bash.program eq "git"`, "Bash", `{"command":"/usr/local/bin/git status"}`, true, true},
	{`bash.program eq "git"`, "Bash", `{"command":"./git status"}`, false, true},
	{`bash.program eq "git"`, "Bash", `{"command":"/tmp/git status"}`, false, true},
	{`bash.program eq "git"`, "Bash", `{"command":"~/bin/git status"}`, false, true},
	{`bash.program eq "git"`, "Bash", `{"command":"/bin/../tmp/git status"}`, false, true},
	{`bash.program starts_with "git"`, "Bash", `{"command":"PATH=/tmp git status"}`, false, true},
	{`bash.program eq "ls"`, "exec_command", `{"cmd":"ls","shell":"/bin/bash"}`, true, true},
	{`bash.program eq "ls"`, "exec_command", `{"cmd":"ls","shell":"/tmp/bash"}`, false, true},
	{`bash.program eq "rm"`, "exec_command", `{"cmd":"ls","shell":"/tmp/bash"}`, false, true},
	{`bash.program eq "rm"`, "exec_command", `{"cmd":"ls","shell":["sh"]}`, false, true},
	{`bash.program eq "rm"`, "shell", `{"command":"ls","env":{"PATH":"/tmp"}}`, false, true},
	{`bash.program eq "ls"`, "shell", `{"command":"ls","env":{"PATH":"/tmp"}}`, false, true},
	{`bash.program matches "^Rm$"`, "Bash", `{"command":"rm x"}`, false, true},

	{`bash.raw starts_with "npm test"`, "Bash", `{"command":"npm test > ~/.bashrc"}`, false, true},
	{`bash.raw starts_with "npm test"`, "Bash", `{"command":"npm test 2>&1"}`, true, true},
	{`bash.raw starts_with "cp a"`, "Bash", `{"command":"cp a b"}`, true, true},
	{`bash.raw matches "git push.*--force"`, "Bash", `{"command":"git push origin --force"}`, true, true},
	{`bash.raw matches "git push.*--force"`, "Bash", `{"command":"git push origin"}`, false, false},
	{`bash.raw starts_with "npm test"`, "Bash", `{"command":"npm test"}`, true, true},
	{`bash.raw starts_with "npm test"`, "Bash", `{"command":"npm test; rm -rf /"}`, false, true},
	// one program, as it says
	{`bash.raw matches "npm test"`, "Bash", `{"command":"rm -rf / # npm test && ls"}`, true, true},
	{`bash.raw not_in ["make"]`, "Bash", `{"command":" make "}`, false, true},
	{`bash.program not_in ["rm"]`, "Bash", `{"command":"RM x"}`, false, true},
	{`bash.program not_matches "^Rm$"`, "Bash", `{"command":"rm x"}`, false, true},
	{`bash.raw eq "make"`, "Bash", `{"command":" make "}`, false, true},
	{`bash.raw not_matches "secret"`, "Bash", `{"command":"cat notes"}`, true, true},
	{`bash.raw not_matches "secret"`, "Bash", `{"command":"cat $X"}`, true, true},
	{`bash.raw not_matches "secret"`, "Bash", `{"command":"$X"}`, false, true},
	{`bash.raw not_in ["ls"]`, "Bash", `{"command":5}`, false, true},

	{`bash.hasWriteRedirection eq true`, "Bash", `{"command":"ls > out"}`, true, true},
	{`bash.hasWriteRedirection eq true`, "Bash", `{"command":"ls"}`, false, false},
	{`bash.hasWriteRedirection eq true`, "Bash", `{"command":"tee out"}`, false, true},
	{`bash.hasWriteRedirection eq false`, "Bash", `{"command":"ls"}`, true, true},
	{`bash.hasWriteRedirection eq false`, "Bash", `{"command":"ls > out"}`, false, false},
	{`bash.hasWriteRedirection eq false`, "Bash", `{"command":"rm x"}`, false, true},
	{`bash.hasWriteRedirection eq false`, "Bash", `{"command":"$X"}`, false, true},

	// Paths are judged as they are written and as they are when cleaned.
	{`file.path matches "\\.env$"`, "Read", `{"file_path":"/srv/.env"}`, true, true},
	{`file.path matches "\\.env$"`, "Read", `{"file_path":"/srv/.env/x/.."}`, false, true},
	{`file.path matches "\\.env$"`, "Read", `{"file_path":"/srv/a.txt"}`, false, false},
	{`file.path matches "\\.env$"`, "read_file", `{"absolute_path":"/srv/.env"}`, true, true},
	{`file.path matches "\\.env$"`, "read_many_files", `{"paths":[".env"]}`, false, true},
	{`file.path matches "\\.env$"`, "read_many_files", `{"paths":["x"],"file_path":".env"}`, false, true},
	{`file.path matches "\\.env$"`, "Read", `{}`, false, true},
	{`file.path matches "\\.env$"`, "Read", `{"file_path":"$HOME/x"}`, false, true},
	{`file.path matches "\\.env$"`, "Read", `{"file_path":["a"]}`, false, true},
	{`file.path matches "\\.env$"`, "Read", `{"file_path":"/a","path":"/b/.env"}`, false, true},
	{`file.path starts_with "/srv/"`, "Read", `{"file_path":"/srv/x"}`, true, true},
	{`file.path starts_with "/srv/"`, "Read", `{"file_path":"/srv/../etc/passwd"}`, false, true},
	{`file.path not_in ["/etc/passwd"]`, "Read", `{"file_path":"/srv/../etc/passwd"}`, false, true},
	{`file.path eq "/srv/x"`, "Read", `{"file_path":"/srv/./x"}`, false, true},
	{`file.path within_workspace true`, "Write", `{"file_path":"src/a.go"}`, true, true},
	{`file.path within_workspace true`, "Write", `{"file_path":"src/../../a.go"}`, false, false},
	{`file.path within_workspace true`, "Write", `{"file_path":"/srv/a.go"}`, false, true},
	{`file.path within_workspace false`, "Write", `{"file_path":"src/a.go"}`, false, false},
	{`file.path within_workspace false`, "Write", `{"file_path":"../a.go"}`, true, true},
	{`file.path within_workspace false`, "Write", `{"file_path":"/etc/passwd"}`, false, true},
	{`file.path within_workspace false`, "Write", `{"file_path":"~/.bashrc"}`, false, true},
	{`file.path within_workspace`, "Write", `{"file_path":"src/a.go"}`, true, true},

	// Where the agent works is not known, and some systems do not tell large letters
	// from small.
	{`file.path starts_with "secrets/"`, "Read", `{"file_path":"/home/u/repo/secrets/key"}`, false, true},
	{`file.path starts_with "secrets/"`, "Read", `{"file_path":"/home/u/repo/src/secrets.go"}`, false, false},
	{`file.path starts_with "./secrets/"`, "Read", `{"file_path":"secrets/key"}`, false, true},
	{`file.path starts_with "~/.ssh"`, "Read", `{"file_path":"/home/u/.ssh/id_rsa"}`, false, true},
	{`file.path starts_with "/etc/"`, "Read", `{"file_path":"../../../etc/passwd"}`, false, true},
	{`file.path starts_with "/etc/"`, "Read", `{"file_path":"src/a.go"}`, false, false},
	{`file.path starts_with "/etc/"`, "Read", `{"file_path":"/ETC/passwd"}`, false, true},
	{`file.path eq ".env"`, "Read", `{"file_path":"/home/u/repo/.env"}`, false, true},
	{`file.path eq ".env"`, "Read", `{"file_path":"/home/u/repo/a.env"}`, false, false},
	{`file.path eq ".env"`, "Read", `{"file_path":".ENV"}`, false, true},
	{`file.path eq "./.env"`, "Read", `{"file_path":".env"}`, false, true},
	{`file.path in ["/etc/passwd"]`, "Read", `{"file_path":"../../etc/passwd"}`, false, true},
	{`file.path in ["/etc/passwd"]`, "Read", `{"file_path":"..a/passwd"}`, false, false},
	{`file.path matches "^secrets/"`, "Read", `{"file_path":"/home/u/repo/secrets/key"}`, false, true},
	{`file.path matches "^(secrets|keys)/"`, "Read", `{"file_path":"/home/u/repo/keys/key"}`, false, true},
	{`file.path matches "(/|^my)keys"`, "Read", `{"file_path":"/home/u/repo/mykeys"}`, false, true},
	{`file.path matches "^secrets/"`, "Read", `{"file_path":"src/secrets/key"}`, false, false},
	{`file.path matches "^/etc/"`, "Read", `{"file_path":"../../etc/passwd"}`, false, true},
	{`file.path matches "(^|/)\\.env$"`, "Read", `{"file_path":"../a.txt"}`, false, false},
	{`file.path matches "\\.env$"`, "Read", `{"file_path":"/srv/.ENV"}`, false, true},
	{`file.path not_matches "^/etc/"`, "Read", `{"file_path":"../../etc/passwd"}`, false, true},
	{`file.path not_matches "^secrets/"`, "Read", `{"file_path":"/home/u/repo/secrets/key"}`, false, true},
	{`file.path not_matches "^secrets/"`, "Read", `{"file_path":"/home/u/repo/a.go"}`, true, true},
	{`file.path not_in ["/etc/passwd"]`, "Read", `{"file_path":"../../etc/passwd"}`, false, true},
	{`file.path not_in [".env"]`, "Read", `{"file_path":"/home/u/repo/.env"}`, false, true},
	{`file.path starts_with "/etc/"`, "Read", `{"file_path":"a.go","filePath":"/etc/passwd"}`, false, true},

	// A search reads what is below.
	{`file.path matches "\\.env$"`, "Grep", `{"pattern":"=","path":".","glob":".env"}`, false, true},
	{`file.path matches "\\.env$"`, "grep_search", `{"pattern":"=","dir_path":"src"}`, false, true},
	{`file.path matches "\\.env$"`, "Grep", `{"pattern":"=","path":"src/main.go"}`, false, false},
	{`file.path starts_with "secrets/"`, "Grep", `{"pattern":"=","path":"secrets"}`, false, true},
	{`file.path starts_with "src/"`, "Grep", `{"pattern":"=","path":"src/x"}`, true, true},
	{`file.path within_workspace false`, "Grep", `{"pattern":"=","path":"src"}`, false, false},

	{`network.host eq "Example.com"`, "WebFetch", `{"url":"https://example.com/x","prompt":"read it"}`, true, true},
	{`network.host eq "example.com"`, "WebFetch", `{"url":"https://example.com@evil.org/"}`, false, false},
	{`network.host eq "example.com"`, "WebFetch", `{"url":"example.com"}`, false, true},
	{`network.host eq "example.com"`, "web_fetch", `{"prompt":"read https://example.com"}`, false, true},
	{
		`network.host eq "example.com"`, "web_fetch",
		`{"prompt":"read https://evil.org","url":"https://example.com/"}`, false, true,
	},
	{`network.host not_in ["example.com"]`, "WebFetch", `{"url":"https://evil.org/"}`, true, true},
	{`network.host matches "\\.Example\\.com$"`, "WebFetch", `{"url":"https://a.EXAMPLE.com/"}`, true, true},
}

// condition makes the JSON of one written "field op value".
func condition(written string) string {
	parts := strings.SplitN(written, " ", 3)
	if len(parts) == 2 {
		return fmt.Sprintf(`{"field":%q,"op":%q}`, parts[0], parts[1])
	}
	return fmt.Sprintf(`{"field":%q,"op":%q,"value":%s}`, parts[0], parts[1], parts[2])
}

// about is the tool whose statement a call's name belongs to.
var about = map[string]string{
	"shell":             "Bash",
	"exec_command":      "Bash",
	"run_shell_command": "Bash",
	"read_file":         "Read",
	"read_many_files":   "Read",
	"web_fetch":         "WebFetch",
	"grep_search":       "Grep",
}

func TestConditionsInTheStrictSense(t *testing.T) {
	t.Parallel()
	for _, c := range conditionCases {
		named := about[c.called]
		if named == "" {
			named = c.called
		}
		action := `{"type":"tool","eq":"` + named + `"}`
		permits := judge(t, parse(t, profileText("hold", statement("s", "permit", action, condition(c.condition)))))
		forbids := judge(t, parse(t, profileText("allow", statement("s", "forbid", action, condition(c.condition)))))
		approves := judge(t, parse(t, profileText("allow", statement("s", "require_approval", action,
			condition(c.condition)))))
		asked := call(t, "local."+c.called, c.arguments)
		what := c.condition + " of " + c.arguments
		wantVerdict(t, "permit where "+what, permits, asked, pick(c.permits, verdict.Allow, verdict.Hold))
		wantVerdict(t, "forbid where "+what, forbids, asked, pick(c.forbids, verdict.Deny, verdict.Allow))
		wantVerdict(t, "approve where "+what, approves, asked, pick(c.forbids, verdict.Hold, verdict.Allow))
	}
}

// TestConditionsOnNames covers the fields that every call has.
func TestConditionsOnNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		condition, called string
		permits, forbids  bool
	}{
		{`mcp.server eq "github"`, "github.x", true, true},
		{`mcp.server eq "github"`, "GitHub.x", false, true},
		{`mcp.server eq "github"`, "slack.x", false, false},
		{`mcp.server eq "github"`, "unknown.mcp_github_x", false, true},
		{`mcp.server eq "github"`, "claude-code.Bash", false, false},
		{`mcp.server not_in ["github"]`, "slack.x", true, true},
		{`mcp.server not_in ["github"]`, "claude-code.Bash", false, true},
		{`mcp.server not_in ["github"]`, "GitHub.x", false, true},
		{`mcp.server starts_with "git"`, "github.x", true, true},
		{`mcp.server matches "^git"`, "github.x", true, true},
		{`mcp.server matches "^Git"`, "github.x", false, true},
		{`tool.name eq "Bash"`, "gemini-cli.run_shell_command", true, true},
		{`tool.name eq "Bash"`, "evil.Bash", false, true},
		{`tool.name eq "Bash"`, "gemini-cli.read_file", false, false},
		{`tool.name not_in ["Bash"]`, "gemini-cli.run_shell_command", false, false},
		{`tool.name not_in ["Bash"]`, "evil.Bash", false, true},
		{`tool.name not_in ["Bash"]`, "gemini-cli.read_file", true, true},
		{`tool.name in ["mcp__github__create_issue"]`, "github.create_issue", true, true},
		{`tool.name in ["mcp__github__create_issue"]`, "GitHub.create_issue", false, true},
	} {
		const action = `{"type":"tool","eq":"*"}`
		permits := judge(t, parse(t, profileText("hold", statement("s", "permit", action, condition(c.condition)))))
		forbids := judge(t, parse(t, profileText("allow", statement("s", "forbid", action, condition(c.condition)))))
		wantVerdict(t, "permit where "+c.condition, permits, call(t, c.called, `{}`),
			pick(c.permits, verdict.Allow, verdict.Hold))
		wantVerdict(t, "forbid where "+c.condition, forbids, call(t, c.called, `{}`),
			pick(c.forbids, verdict.Deny, verdict.Allow))
	}
}

// TestResources: a resource narrows its statement like a condition.
func TestResources(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		resource, tool, called, arguments string
		permits, forbids                  bool
	}{
		{`{"type":"workspace"}`, "Read", "local.Read", `{}`, true, true},
		{`{"type":"file","path":"/srv/a"}`, "Read", "local.Read", `{"file_path":"/srv/b/../a"}`, true, true},
		{`{"type":"file","path":"/srv/a"}`, "Read", "local.Read", `{"file_path":"/srv/a/b"}`, false, true},
		{`{"type":"file","path":"/srv/a"}`, "Read", "local.Read", `{"file_path":"/srv/c"}`, false, false},
		{`{"type":"directory","path":"/srv"}`, "Read", "local.Read", `{"file_path":"/srv/c"}`, true, true},
		{`{"type":"directory","path":"/srv"}`, "Read", "local.Read", `{"file_path":"/srv/../etc"}`, false, false},
		{`{"type":"directory","path":"/srv"}`, "Read", "local.Read", `{"file_path":"c"}`, false, true},
		{`{"type":"directory","path":"/srv"}`, "Read", "local.Read", `{}`, false, true},
		{`{"type":"directory","path":"/srv/keys"}`, "Grep", "local.Grep", `{"path":"/srv"}`, false, true},
		{
			`{"type":"network","host":"example.com"}`, "WebFetch", "local.WebFetch", `{"url":"https://example.com"}`,
			true, true,
		},
		{
			`{"type":"network","host":"example.com"}`, "WebFetch", "local.WebFetch", `{"url":"https://evil.org"}`,
			false, false,
		},
		{`{"type":"mcp_server","name":"github"}`, "*", "github.x", `{}`, true, true},
		{`{"type":"mcp_server","name":"github"}`, "*", "slack.x", `{}`, false, false},
	} {
		with := func(effect string) string {
			return strings.Replace(statement("s", effect, `{"type":"tool","eq":"`+c.tool+`"}`),
				`{"type":"workspace","scope":"current"}`, c.resource, 1)
		}
		asked := call(t, c.called, c.arguments)
		what := c.resource + " of " + c.arguments
		wantVerdict(t, "permit "+what, judge(t, parse(t, profileText("hold", with("permit")))), asked,
			pick(c.permits, verdict.Allow, verdict.Hold))
		wantVerdict(t, "forbid "+what, judge(t, parse(t, profileText("allow", with("forbid")))), asked,
			pick(c.forbids, verdict.Deny, verdict.Allow))
	}
}
