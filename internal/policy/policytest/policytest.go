// Package policytest runs the tests that people write beside a policy: calls, and the
// decisions they expect.
//
//	policy: payments.yaml
//	tests:
//	  - name: a small payment passes
//	    call:
//	      server: bank
//	      tool: send_money
//	      arguments: {amount: 10, currency: EUR}
//	    want: {decision: allow, rule: small-payments}
//
// The policy is a path relative to the file, or the document itself; policies is a
// list of those, to test several together. A call has what a condition can see. What
// it leaves out is absent, except now, which is a fixed instant. Under spent, a test
// says how much of a rule's limit is used up; unknown is a counter that cannot be
// read. A part of the reason is enough.
//
// With capabilities: [confine] the caller can confine calls. An allow that confines must be wanted with the limits that
// it demands; without them the test fails.
//
// Read refuses unknown members: a misspelled want would be a test that cannot fail.
package policytest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"writ/internal/confine"
	"writ/internal/node"
	"writ/internal/obligation"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Limits of a suite.
const (
	MaxBytes    = 4 << 20
	maxTests    = 10_000
	maxPolicies = 20
	maxName     = 200 // characters
)

// Suite is the tests of one file.
type Suite struct {
	File     string
	Policies []*engine.Policy
	Tests    []Test
}

// Test is one call and the decision it must get.
type Test struct {
	Name  string
	At    document.Position
	Call  *toolcall.Call
	Spent map[string]Used // by the rule's id
	Want  Want
}

// Used is how much of a limit is used up, in the limit's unit.
type Used struct {
	Amount  int64
	Unknown bool // it cannot be read
}

// Want is what a decision must be. Empty fields match anything.
type Want struct {
	Decision verdict.Verdict
	Policy   string // its name
	Rule     string
	Reason   string // a part of it
	// Confine is what the call must be confined to, exactly. An allow without it must be one that does not confine.
	Confine *confine.Limits
	// Oblige is what must be done with the result, exactly.
	Oblige *obligation.Set
}

// Invalid is the error for a file with problems.
type Invalid struct {
	File     string
	Problems []document.Problem
}

// Error is the first problem, and how many more there are.
func (e *Invalid) Error() string {
	return document.Summary(e.Problems, func(p document.Problem) string { return p.In(e.File) })
}

// Load reads a suite and the policies it names.
func Load(path string) (*Suite, error) {
	text, err := ReadFile(path, MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the tests: %w", err)
	}
	return Read(path, text, func(policy string) ([]byte, error) {
		return ReadFile(filepath.Join(filepath.Dir(path), filepath.FromSlash(policy)), document.MaxBytes)
	})
}

// ReadFile reads a file of at most limit bytes. Of a larger one it reads one byte
// more, so that the caller notices.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// Read reads a suite. It calls open for the text of each policy that the suite names.
func Read(file string, text []byte, open func(path string) ([]byte, error)) (*Suite, error) {
	r := &reader{file: file, open: open}
	s := r.suite(r.parse(text))
	if r.policyErr != nil {
		return nil, r.policyErr
	}
	if err := r.invalid(); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadNamed is Read for tests of one document, which they name by a path. Others are refused before anything is
// compiled.
func ReadNamed(file string, text []byte, open func(path string) ([]byte, error)) (*Suite, error) {
	r := &reader{file: file, open: open, named: true}
	s := r.suite(r.parse(text))
	if r.policyErr != nil {
		return nil, r.policyErr
	}
	return s, r.invalid()
}

type reader struct {
	named     bool // see ReadNamed
	file      string
	open      func(path string) ([]byte, error)
	limits    map[string]*document.Limit // of the policies' rules, by id
	problems  []document.Problem
	policyErr error
}

// parse reads the text in the format that the file's name implies. It returns nil
// where it reports a problem.
func (r *reader) parse(text []byte) *node.Value {
	if len(text) > MaxBytes {
		r.report(document.Position{}, "", fmt.Sprintf("must be at most %d bytes", MaxBytes))
		return nil
	}
	root, problems := document.ReadTree(text, document.FormatOf(r.file))
	if problems != nil {
		r.problems = problems
		return nil
	}
	return node.Read(root, r.report)
}

// maxProblems is how many problems of a file are reported.
const maxProblems = 100

func (r *reader) report(at document.Position, path, message string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, document.Problem{Position: at, Field: path, Message: message})
	}
}

func (r *reader) invalid() error {
	if r.problems == nil {
		return nil
	}
	return &Invalid{r.file, r.problems}
}

func (r *reader) suite(v *node.Value) *Suite {
	s := &Suite{File: r.file}
	if root := v.Node(); root.Has("rules") && !root.Has("tests") {
		v.Problem("this is a policy, not its tests: write them into a file of their own, whose policy names this one")
		return s
	}
	m := v.Members("policy", "policies", "tests")
	r.limits = map[string]*document.Limit{}
	one, several := m.Get("policy"), m.Get("policies")
	switch {
	case r.named && (one == nil || several != nil || one.Node().Kind == node.Map):
		v.Problem("policy must be the name of a file, which stands for the document")
	case one != nil && several == nil:
		s.Policies = append(s.Policies, r.policy(one))
	case several != nil && one == nil:
		for _, item := range several.Items(maxPolicies) {
			s.Policies = append(s.Policies, r.policy(item))
		}
	case v.Node().Kind == node.Map:
		v.Problem("must have either policy or policies")
	}
	tests := m.Need("tests")
	if r.policyErr != nil {
		return s
	}
	names := map[string]bool{}
	for _, item := range tests.NeedItems(maxTests, "must hold at least one test") {
		test := r.test(item)
		if names[test.Name] && test.Name != "" {
			item.Problem("must have a name of its own")
		}
		names[test.Name] = true
		s.Tests = append(s.Tests, test)
	}
	return s
}

// policy reads a policy, which is a path or a document.
func (r *reader) policy(v *node.Value) *engine.Policy {
	file := r.file
	var doc *document.Document
	var err error
	if v.Node().Kind == node.Map {
		doc, err = document.From(v.Node())
	} else {
		file, doc, err = r.namedBy(v)
	}
	if err == nil && doc != nil {
		policy, problems := engine.Compile(doc)
		if len(problems) == 0 {
			r.addLimits(doc)
			return policy
		}
		err = &document.Invalid{Problems: problems}
	}
	if invalid, ok := err.(*document.Invalid); ok {
		err = &Invalid{file, invalid.Problems}
	}
	if r.policyErr == nil {
		r.policyErr = err
	}
	return nil
}

func (r *reader) namedBy(v *node.Value) (file string, doc *document.Document, err error) {
	path, ok := v.Text()
	switch {
	case !ok:
		return "", nil, nil
	case path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "/"):
		v.Problem("must be a path relative to this file, or a policy")
		return "", nil, nil
	}
	file = filepath.Join(filepath.Dir(r.file), filepath.FromSlash(path))
	text, err := r.open(path)
	if err != nil {
		return file, nil, fmt.Errorf("read the policy that %s names: %w", r.file, err)
	}
	doc, err = document.Parse(text, document.FormatOf(path))
	return file, doc, err
}

func (r *reader) addLimits(doc *document.Document) {
	for _, rule := range doc.Rules {
		if rule.Limit != nil && r.limits[rule.ID] == nil {
			r.limits[rule.ID] = rule.Limit
		}
	}
}
