package config

import (
	"errors"
	"io/fs"
	"strings"
)

const fileSuffix = "_FILE"

// reader looks up settings and collects what is wrong with them.
type reader struct {
	known       map[string]Variable
	values      map[string]string // only what is set and not empty
	readFile    func(path string) ([]byte, error)
	environment Environment // which defaults apply
	problems    Problems
	doubts      []Problem
}

func newReader(environ []string, readFile func(string) ([]byte, error)) *reader {
	r := &reader{known: map[string]Variable{}, values: map[string]string{}, readFile: readFile}
	for _, v := range Variables() {
		r.known[v.Name] = v
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		delete(r.values, name) // the last of repeated names counts, as in exec.Cmd
		if value != "" {
			r.values[name] = value
		}
	}
	return r
}

// report names the variable that the operator set.
func (r *reader) report(name, message string) {
	r.problems = append(r.problems, Problem{Variable: r.written(name), Message: message})
}

// written is the name under which the operator set a variable: its own, or that of its file.
func (r *reader) written(name string) string {
	if r.isFromFile(name) {
		return name + fileSuffix
	}
	return name
}

func (r *reader) isFromFile(name string) bool {
	return r.known[name].File && r.values[name] == "" && r.values[name+fileSuffix] != ""
}

// isSet reports whether the operator set the variable in either form, rightly or wrongly.
func (r *reader) isSet(name string) bool {
	return r.values[name] != "" || r.known[name].File && r.values[name+fileSuffix] != ""
}

// require reports a variable that must be set and is not.
func (r *reader) require(name, when string) {
	if !r.isSet(name) {
		r.report(name, "is required "+when)
	}
}

// text returns the value of a variable, from its file if it has one, or its default. It is empty if there is none, or
// if it was reported as a problem.
func (r *reader) text(name string) string {
	value, variable := r.values[name], r.known[name]
	path := r.values[name+fileSuffix]
	switch {
	case variable.File && value != "" && path != "":
		r.report(name, "is set together with "+name+fileSuffix+"; keep one of them")
		return ""
	case variable.File && path != "":
		return r.fromFile(name+fileSuffix, path)
	case value != "":
		return value
	}
	return variable.Default.in(r.environment)
}

func (r *reader) fromFile(name, path string) string {
	content, err := r.readFile(path)
	if err != nil {
		r.report(name, "names a file that cannot be read"+reason(err))
		return ""
	}
	if strings.TrimSpace(string(content)) == "" {
		r.report(name, "names a file that is empty")
		return ""
	}
	return strings.TrimRight(string(content), "\r\n")
}

// reason says why a file cannot be read, without its path: somebody may have put the secret itself where the path
// belongs.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ": it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return ": permission denied"
	}
	return ""
}

// read returns a variable's parsed value, or the zero value if there is none. The error of parse becomes the problem,
// so it must not quote the text.
func read[T any](r *reader, name string, parse func(text string) (T, error)) T {
	var none T
	text := r.text(name)
	if text == "" {
		return none
	}
	value, err := parse(text)
	switch {
	case err == nil:
		return value
	case r.isFromFile(name):
		r.report(name, "names a file whose content "+err.Error())
	default:
		r.report(name, err.Error())
	}
	return none
}
