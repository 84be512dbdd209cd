package scan

import (
	"net/netip"
	"net/url"
	"strings"

	"writ/internal/intent/grounding"
	"writ/internal/mcp/definition"
	"writ/internal/toolclass"
)

// connection judges how the server is reached or started.
func (s *scanner) connection() {
	if s.server.URL != "" {
		s.place = append(s.place[:0], member("url"))
		s.url(s.server.URL)
	}
	if len(s.server.Command) > 0 {
		s.place = append(s.place[:0], member("command"))
		s.command(s.server.Command)
	}
	s.place = s.place[:0]
}

func (s *scanner) url(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return
	}
	shown := u.Scheme + "://" + u.Host + u.Path // without what may be secret
	local := isLocal(u.Hostname())
	if strings.EqualFold(u.Scheme, "http") && !local {
		s.foundHere(plainHTTP, 0, shown)
	}
	if u.User != nil || hasSecretQuery(u) {
		s.foundHere(connectionSecret, 0, shown)
	}
	if s.server.Auth == definition.AuthNone && !local {
		severity := Severity(0)
		if s.changesThings() {
			severity = Medium
		}
		s.foundHere(noAuth, severity, shown)
	}
}

// scanSettings judges what a client's configuration says of a server.
func scanSettings(c *collector, settings Settings) {
	s := &scanner{collector: c, server: settings.Server}
	if settings.Trusted {
		s.place = path{member("trust")}
		s.foundHere(clientTrusts, 0, "trust")
	}
	for _, name := range settings.Secrets {
		s.place = path{member("settings"), member(name)}
		s.foundHere(connectionSecret, 0, name)
	}
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

var secretKeys = toolclass.NewSet("token key apikey secret password passwd pwd sig signature auth credential credentials access jwt pat")

func hasSecretQuery(u *url.URL) bool {
	for name, values := range u.Query() {
		if secretKeys.HasAny(toolclass.Words(name)) && len(values) > 0 && values[0] != "" {
			return true
		}
	}
	return false
}

// changesThings reports whether one of the tools does more than read.
func (s *scanner) changesThings() bool {
	for i := range s.server.Tools {
		s.work++
		switch toolclass.Effect(s.server.Name, s.server.Tools[i].Name) {
		case grounding.Write, grounding.Egress, grounding.Execute:
			return true
		}
	}
	return false
}

// command judges the command that starts a server. The evidence names no value, which may be a secret.
func (s *scanner) command(argv []string) {
	line := strings.Join(argv, " ")
	program := argv[0][strings.LastIndexAny(argv[0], `/\`)+1:]
	if downloads(line) {
		s.foundHere(commandDownload, 0, program)
	}
	if argument := secretArgument(argv); argument != "" {
		s.foundHere(connectionSecret, 0, program+" "+argument)
	}
	if argument := broadArgument(argv); argument != "" {
		s.foundHere(commandBroad, 0, program+" "+argument)
	}
	if unpinned := unpinnedPackage(program, argv[1:]); unpinned != "" {
		s.foundHere(commandUnpinned, 0, program+" "+unpinned)
	}
}

// downloads reports whether a command line runs what it fetches.
func downloads(line string) bool {
	fetches := false
	for _, way := range []string{"curl ", "wget ", "iwr ", "invoke-webrequest", "irm ", "fetch http"} {
		fetches = fetches || strings.Contains(strings.ToLower(line), way)
	}
	if !fetches {
		return false
	}
	for _, run := range []string{
		"| sh", "|sh", "| bash", "|bash", "| sudo", "|iex", "| iex", "$(", "<(", "`", "&& sh", "&& bash", "| python",
		"| node", "chmod +x",
	} {
		if strings.Contains(line, run) {
			return true
		}
	}
	return false
}

// secretStarts are how the secrets of well-known services begin.
var secretStarts = []string{
	"ghp_", "gho_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ", "npm_", "pypi-",
	"sk_live_", "rk_live_", "ak_live_",
}

// secretArgument is the name of the argument that holds a secret; empty: none does.
func secretArgument(argv []string) string {
	for i, argument := range argv {
		name, value, joined := strings.Cut(argument, "=")
		if !joined && i+1 < len(argv) && strings.HasPrefix(argument, "-") {
			value = argv[i+1]
		}
		for _, start := range secretStarts {
			if strings.HasPrefix(argument, start) || strings.HasPrefix(value, start) {
				return "argument " + string(rune('0'+min(i, 9)))
			}
		}
		named := strings.HasPrefix(name, "-") || joined
		if named && secretKeys.HasAny(toolclass.Words(name)) && isLiteral(value) {
			return name
		}
	}
	return ""
}

// IsSecret reports whether a setting holds a secret that is written out.
func IsSecret(name, value string) bool {
	value = strings.TrimPrefix(value, "Bearer ")
	for _, start := range secretStarts {
		if strings.HasPrefix(value, start) && len(value) > len(start)+8 {
			return true
		}
	}
	words := toolclass.Words(name)
	return (secretKeys.HasAny(words) || strings.EqualFold(name, "authorization")) && isLiteral(value)
}

// isLiteral reports whether a value is written out, not taken from a variable, a file or an input.
func isLiteral(value string) bool {
	return len(value) >= 6 && !strings.ContainsAny(value[:1], "$%/.-<{[") && !strings.Contains(value, "${")
}

// broadArgument is an argument that gives a server the whole machine; empty: none does.
func broadArgument(argv []string) string {
	for i, argument := range argv {
		switch argument {
		case "--privileged", "--cap-add=ALL", "--dangerously-skip-permissions", "--allow-all", "--no-sandbox",
			"--disable-sandbox", "--pid=host", "--network=host", "--net=host", "--yolo", "-A":
			return argument
		case "/", "~", "~/", "$HOME", "${HOME}", "C:\\", "C:/", "/home", "/Users", "/root":
			if i > 0 {
				return argument
			}
		}
		if strings.HasPrefix(argument, "/:/") || strings.Contains(argument, "docker.sock") ||
			strings.Contains(argument, "source=/,") || strings.HasPrefix(argument, "sudo") {
			return argument
		}
	}
	return ""
}

// runners are the programs that fetch a package and run it.
var runners = newPhrases("npx", "npx.cmd", "uvx", "bunx", "pipx", "pnpx")

// unpinnedPackage is the package that a runner starts in whatever version is the newest; empty: there is none.
func unpinnedPackage(program string, arguments []string) string {
	if !runners[program] {
		return ""
	}
	for _, argument := range arguments {
		if strings.HasPrefix(argument, "-") || argument == "run" {
			continue
		}
		at := strings.LastIndexByte(argument, '@')
		pinned := at > 0 && at+1 < len(argument) && argument[at+1] >= '0' && argument[at+1] <= '9'
		if pinned || strings.Contains(argument, "==") || strings.ContainsAny(argument[:1], "./") {
			return ""
		}
		return argument
	}
	return ""
}
