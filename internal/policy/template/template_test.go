package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/policytest"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("policies")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(All()) {
		t.Errorf("%d templates of %d files: one has no title", len(All()), len(files))
	}
	for _, shipped := range All() {
		t.Run(shipped.Name, func(t *testing.T) {
			t.Parallel()
			if shipped.Title == "" || shipped.Description == "" {
				t.Error("it has no title or no description")
			}
			doc, err := document.Parse([]byte(shipped.Text), document.YAML)
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			if doc.Name != shipped.Name {
				t.Errorf("the policy is named %s", doc.Name)
			}
			policy, problems := engine.Compile(doc)
			for _, p := range problems {
				t.Errorf("%d:%d: %s: %s", p.Line, p.Column, p.Rule, p.Message)
			}
			if policy == nil {
				return
			}
			for _, w := range policy.Warnings() {
				t.Errorf("warning: %d:%d: %s: %s", w.Line, w.Column, w.Rule, w.Message)
			}
		})
	}
}

// Every template has tests beside it, in the form that people write theirs.
func TestSuites(t *testing.T) {
	t.Parallel()
	for _, shipped := range All() {
		t.Run(shipped.Name, func(t *testing.T) {
			t.Parallel()
			tests, err := policytest.Load(filepath.Join("tests", shipped.Name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range tests.Run() {
				if !result.Passed() {
					t.Errorf("%s: %s", result.Test.Name, strings.Join(result.Failures, "; "))
				}
			}
		})
	}
}

// TestShippedTests: what is handed out beside a template names the policy as it is
// handed out, and passes.
func TestShippedTests(t *testing.T) {
	t.Parallel()
	for _, shipped := range All() {
		tests, err := policytest.Read("tests.yaml", []byte(shipped.Tests), func(path string) ([]byte, error) {
			if path != PolicyFile {
				t.Errorf("%s: the tests are about %s", shipped.Name, path)
			}
			return []byte(shipped.Text), nil
		})
		if err != nil {
			t.Fatalf("%s: %v", shipped.Name, err)
		}
		for _, result := range tests.Run() {
			if !result.Passed() {
				t.Errorf("%s: %s: %s", shipped.Name, result.Test.Name, strings.Join(result.Failures, "; "))
			}
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, shipped := range All() {
		if got, ok := Get(shipped.Name); !ok || got != shipped {
			t.Errorf("Get(%s) = %v, %t", shipped.Name, got.Name, ok)
		}
	}
	if got, ok := Get("nothing"); ok || got != (Template{}) {
		t.Errorf("Get(nothing) = %v, %t", got, ok)
	}
}
