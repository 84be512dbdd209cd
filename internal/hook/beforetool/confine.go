package beforetool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"writ/internal/confine"
	"writ/internal/hook"
)

// shellTool is the tool of the host that runs commands.
const shellTool = "run_shell_command"

// canConfine is the capability of a caller that confines an allowed call.
const canConfine = "confine"

// capabilities are what this hook can do with an answer: it confines commands of the host's own shell tool, on Linux.
func capabilities(in *hook.Input) []string {
	if in.MCP == nil && in.ToolName == shellTool && runtime.GOOS == "linux" &&
		slices.Contains(in.Guard.Capabilities, canConfine) {
		return []string{canConfine}
	}
	return nil
}

// confineCall rewrites a shell call into writ run with the decision's limits, which reports to a file what held.
// Everything else of the input stays.
func confineCall(in *hook.Input, r ruling, report string) (json.RawMessage, error) {
	if len(capabilities(in)) == 0 {
		return nil, errors.New("this tool cannot be confined here")
	}
	limits, err := r.limits()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	var command string
	if err := json.Unmarshal(in.ToolInput, &members); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(members["command"], &command); err != nil || command == "" {
		return nil, errors.New("it has no command")
	}
	if command, err = Confined(in, limits, report, r.DecisionID, command); err != nil {
		return nil, err
	}
	if members["command"], err = json.Marshal(command); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// Confined is a command of the shell as it runs within limits, with the report in a file. The doctor runs one, too.
func Confined(in *hook.Input, limits confine.Limits, report, decision, command string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("the home directory is not known")
	}
	workspace := realPath(in.CWD)
	limits = leaveOut(limits.In(workspace, home), workspace)
	limits.Protect = append(limits.Protect, steering(in)...)
	args := limits.Arguments(decision, []string{"bash", "-c", command})
	confined := append([]string{in.Guard.Writ, args[0], "--report=" + report}, args[1:]...)
	for i := range confined {
		confined[i] = quote(confined[i])
	}
	return strings.Join(confined, " "), nil
}

// leaveOut takes out what is not there: a policy names folders that only some machines have, and one that is absent
// permits nothing. What a command may only read must not come to be where it may write: it is protected there.
func leaveOut(limits confine.Limits, workspace string) confine.Limits {
	limits.Write = slices.DeleteFunc(limits.Write, func(path string) bool {
		return path != workspace && isAbsent(path)
	})
	limits.Read = slices.DeleteFunc(limits.Read, func(path string) bool {
		if !isAbsent(path) {
			return false
		}
		itself := filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path)) // a link that leads nowhere, perhaps
		for _, place := range []string{itself, realPath(path)} {
			if isInside(place, limits.Write) && !slices.Contains(limits.Protect, place) {
				limits.Protect = append(limits.Protect, place)
			}
		}
		return true
	})
	return limits
}

// isAbsent reports whether nothing is at a path, or at what its links lead to. What cannot be looked at may be there.
func isAbsent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isInside reports whether a real path is in one of some folders.
func isInside(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return strings.HasPrefix(path, strings.TrimSuffix(realPath(folder), "/")+"/")
	})
}

// steering are files in the workspace by which a confined command could reach out of it later: the host reads its
// environment from .env, and the manifest and more may be there.
func steering(in *hook.Input) []string {
	workspace := realPath(in.CWD)
	paths := []string{filepath.Join(workspace, ".env")}
	for _, path := range append(slices.Clone(in.Guard.Protected), in.Guard.Manifest) {
		if path = realPath(path); strings.HasPrefix(path, workspace+string(filepath.Separator)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// quote makes a text one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// realPath follows the links of an absolute path, as far as it exists. A link to something that does not exist is
// followed too: writing to it makes that. Dots lead up from where links lead, unless the path was cleaned before.
func realPath(path string) string {
	const most = 255 // as many links as any system follows
	done, rest, links := string(filepath.Separator), path, 0
	if volume := filepath.VolumeName(path); volume != "" {
		done, rest = volume+done, path[len(volume):]
	}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(filepath.ToSlash(rest), "/")
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		target, err := os.Readlink(next)
		if err != nil {
			done = next
			continue
		}
		if links++; links > most {
			return filepath.Clean(path)
		}
		if filepath.IsAbs(target) {
			done = string(filepath.Separator)
		}
		rest = target + "/" + rest
	}
	return done
}

// pathMembers are arguments of the host's own tools that are one path.
var pathMembers = []string{"file_path", "absolute_path", "path", "dir_path"}

// resolvedPaths are what paths in the input really are, where links lead elsewhere.
func resolvedPaths(in *hook.Input) map[string]string {
	if in.MCP != nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(in.ToolInput, &members) != nil {
		return nil
	}
	resolved := map[string]string{}
	for _, name := range pathMembers {
		var path string
		if json.Unmarshal(members[name], &path) != nil || path == "" {
			continue
		}
		if actual := resolve(in.CWD, path); actual != filepath.Clean(path) {
			resolved[path] = actual
		}
	}
	return resolved
}

// resolve is the file that the host's own tools take for a path: they clean it first, so that dots lead up from what is
// written, and follow links then. A relative path stays so, unless it leads out of the folder.
func resolve(folder, path string) string {
	if filepath.IsAbs(path) {
		return realPath(filepath.Clean(path))
	}
	actual := realPath(filepath.Join(folder, path))
	relative, err := filepath.Rel(realPath(folder), actual)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return actual
	}
	return relative
}
