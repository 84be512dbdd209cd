package policies

import (
	"context"
	"errors"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/policytest"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// mountTests serves the tests that people write beside a policy.
func (h *Handlers) mountTests(r *route.Router) {
	route.Handle(r, draft(route.Post("/policies/test",
		"Run tests against a document that need not be stored: calls, and the decisions they must get")).
		Unrecorded(), h.testPolicy)
}

// maxTests is how many tests are run at once. Files of more are for writd policy test.
const maxTests = 500

type testInput struct {
	route.OrganizationQuery
	Body struct {
		YAML  string `json:"yaml" minLength:"1" doc:"The document, as YAML."`
		Tests string `json:"tests" minLength:"1" maxLength:"262144" doc:"The tests, as YAML, in the form of writd policy test: policy is the name of a file, whichever it is, and stands for the document; at most 500 tests."`
	}
}

// TestResultBody is the result of one test.
type TestResultBody struct {
	Name     string          `json:"name"`
	Line     int             `json:"line" doc:"Where it begins in the tests."`
	Passed   bool            `json:"passed"`
	Want     verdict.Verdict `json:"want" enum:"allow,deny,hold,ask"`
	Decision verdict.Verdict `json:"decision" enum:"allow,deny,hold,ask"`
	Rule     string          `json:"rule" doc:"The rule that decided; default if none matched."`
	Reason   string          `json:"reason"`
	Failures []string        `json:"failures" nullable:"false" doc:"What differs from what is wanted."`
}

// TestsBody is the results of tests.
type TestsBody struct {
	Passed  bool             `json:"passed" doc:"Whether all have passed."`
	Results []TestResultBody `json:"results" nullable:"false"`
}

func (h *Handlers) testPolicy(ctx context.Context, caller principal.Principal, in *testInput) (TestsBody, error) {
	source := policy.Source{Text: in.Body.YAML, Format: document.YAML}
	// It says what is wrong with the document itself.
	if _, err := h.Policies.Validate(ctx, caller, source); err != nil {
		return TestsBody{}, err
	}
	var results []policytest.Result
	err := h.Policies.Draft(ctx, func() error {
		suite, err := readTests(in.Body.Tests, in.Body.YAML)
		if err != nil {
			return err
		}
		if results, err = suite.RunUntil(ctx); err != nil {
			return fault.Wrap(err, fault.Unavailable, "the tests took too long; run fewer at once")
		}
		return nil
	})
	if err != nil {
		return TestsBody{}, err
	}
	body := TestsBody{Passed: true, Results: make([]TestResultBody, len(results))}
	for i, r := range results {
		body.Results[i] = TestResultBody{
			Name:     r.Test.Name,
			Line:     r.Test.At.Line,
			Passed:   r.Passed(),
			Want:     r.Test.Want.Decision,
			Decision: r.Decision.Verdict,
			Rule:     r.Decision.Rule,
			Reason:   r.Decision.Reason,
			Failures: append([]string{}, r.Failures...),
		}
		body.Passed = body.Passed && r.Passed()
	}
	return body, nil
}

// readTests reads tests of one document. Tests that hold a document of their own would be of another than the one that
// a person looks at.
func readTests(tests, doc string) (*policytest.Suite, error) {
	suite, err := policytest.ReadNamed("tests.yaml", []byte(tests), func(string) ([]byte, error) {
		return []byte(doc), nil
	})
	if bad, ok := errors.AsType[*policytest.Invalid](err); ok {
		return nil, testProblems(bad.Problems)
	}
	switch {
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "tests: cannot be read")
	case len(suite.Tests) > maxTests:
		return nil, fault.Field("tests", "must be at most %d tests", maxTests)
	}
	return suite, nil
}

func testProblems(problems []document.Problem) error {
	details := make([]fault.Detail, len(problems))
	for i, p := range problems {
		details[i] = fault.Detail{Field: "tests", Message: p.String()}
	}
	return fault.Fields(details...)
}
