package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
)

const (
	compilers   = 2   // documents compiled at once: a large one takes seconds of CPU
	maxProblems = 100 // reported of one document
)

// compiled is a document that may be stored.
type compiled struct {
	source Source
	doc    *document.Document
	policy *engine.Policy
}

// compiler reads and compiles documents, a few at a time.
type compiler struct{ slots chan struct{} }

func newCompiler() *compiler { return &compiler{slots: make(chan struct{}, compilers)} }

// read parses and compiles a source, or returns all its problems as one Invalid fault.
func (c *compiler) read(ctx context.Context, source Source) (compiled, error) {
	if len(source.Text) > document.MaxBytes {
		return compiled{}, fault.New(fault.TooLarge, "the document is larger than %d bytes", document.MaxBytes)
	}
	if !utf8.ValidString(source.Text) || strings.ContainsRune(source.Text, 0) {
		return compiled{}, fault.Field("document", "must be UTF-8 text without NUL")
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return compiled{}, err
	}
	defer leave()
	doc, err := source.Document()
	if err != nil {
		return compiled{}, invalid(err)
	}
	policy, problems := engine.Compile(doc)
	if len(problems) > 0 {
		return compiled{}, problemFault(problems)
	}
	return compiled{source: source, doc: doc, policy: policy}, nil
}

// enter waits for a turn.
func (c *compiler) enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "too many documents are being compiled; try again")
	}
}

// Draft compiles documents that are not stored, and tries them out, in turn with others who do.
func (s *Service) Draft(ctx context.Context, do func() error) error {
	leave, err := s.compiler.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return do()
}

// invalid is an error of Parse as a fault.
func invalid(err error) error {
	if bad, ok := errors.AsType[*document.Invalid](err); ok && len(bad.Problems) > 0 {
		return problemFault(bad.Problems)
	}
	return fault.Wrap(err, fault.Invalid, "the document cannot be read")
}

// problemFault is the first problems of a document as a fault.
func problemFault(problems []document.Problem) error {
	details := make([]fault.Detail, 0, min(len(problems), maxProblems))
	for _, p := range problems[:min(len(problems), maxProblems)] {
		details = append(details, fault.Detail{Field: cmp.Or(p.Field, "document"), Message: where(p) + p.Message})
	}
	return fault.Fields(details...)
}

// where is "line 4, column 9, rule pay: " for a problem, as far as it is known.
func where(p document.Problem) string {
	var parts []string
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d, column %d", p.Line, p.Column))
	}
	if p.Rule != "" {
		parts = append(parts, "rule "+p.Rule)
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}
