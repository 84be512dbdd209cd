package sandbox

import (
	"slices"
	"strings"
)

// secretWords are parts of the names of variables that hold secrets.
var secretWords = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE", "APIKEY", "AUTHORIZATION",
}

// secretEndings are ends of such names.
var secretEndings = []string{"_KEY", "_KEYS", "PASS", "_PWD", "_AUTH", "_PAT", "_DSN", "_COOKIE"}

// hasPassword reports whether a text has an address with a password in it: ://NAME:PASSWORD@. It is not a pattern,
// because compiling one takes longer than all of this.
func hasPassword(text string) bool {
	for found := true; found; {
		if _, text, found = strings.Cut(text, "://"); !found {
			return false
		}
		end := strings.IndexAny(text, "/@ \t\n\f\r")
		if end >= 0 && text[end] == '@' && strings.Contains(text[:end], ":") {
			return true
		}
	}
	return false
}

// doors name sockets and files through which a program reaches what lies outside.
var doors = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
	"DOCKER_HOST", "KUBECONFIG", "XAUTHORITY", "DATABASE_URL", "TMUX", "STY", "VSCODE_IPC_HOOK_CLI",
	"VSCODE_GIT_IPC_HANDLE",
	"LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET", "BASH_ENV", "ENV",
}

// isSecret reports whether a variable of this name is kept from the command.
func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	has := func(part string) bool { return strings.Contains(upper, part) }
	ends := func(end string) bool { return strings.HasSuffix(upper, end) }
	return strings.HasPrefix(upper, "WRIT_") || slices.Contains(doors, upper) || upper == "KEY" ||
		slices.ContainsFunc(secretWords, has) || slices.ContainsFunc(secretEndings, ends)
}

// proxyVariables are those that programs read to find a proxy.
var proxyVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// cleaned divides an environment into what the command gets and the names that are kept
// from it. The caller's own proxies are taken out: the command cannot reach them.
func cleaned(environment, keep []string) (passed, removed []string) {
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case slices.Contains(proxyVariables, name):
		case (isSecret(name) || hasPassword(value)) && !slices.Contains(keep, name):
			removed = append(removed, name)
		default:
			passed = append(passed, variable)
		}
	}
	slices.Sort(removed)
	return passed, removed
}

// withVariable sets a variable of an environment.
func withVariable(environment []string, name, value string) []string {
	environment = slices.DeleteFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, name+"=")
	})
	return append(environment, name+"="+value)
}

// variable is the value of one in an environment.
func variable(environment []string, name string) string {
	for _, variable := range environment {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// proxyAddress is where the command finds the proxy, inside its own network.
const proxyAddress = "127.0.0.1:3128"

// withProxy tells programs of the proxy.
func withProxy(environment []string, address string) []string {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		environment = withVariable(environment, name, "http://"+address)
	}
	return environment
}
