package verdict_test

import (
	"testing"

	"writ/internal/verdict"
)

func TestTheZeroValueIsDeny(t *testing.T) {
	t.Parallel()
	var v verdict.Verdict
	if v != verdict.Deny || v.String() != "deny" {
		t.Errorf("the zero value is %s, want deny", v)
	}
}

func TestStrictestIsTheMinimum(t *testing.T) {
	t.Parallel()
	order := []verdict.Verdict{verdict.Deny, verdict.Hold, verdict.Ask, verdict.Allow}
	for i := 1; i < len(order); i++ {
		if min(order[i-1], order[i]) != order[i-1] {
			t.Errorf("%s is not stricter than %s", order[i-1], order[i])
		}
	}
}

func TestWordsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []verdict.Verdict{verdict.Deny, verdict.Hold, verdict.Ask, verdict.Allow} {
		got, err := verdict.Parse(want.String())
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %s, %v", want.String(), got, err)
		}
	}
}

func TestOtherWordsAreRefusedAndDeny(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "Allow", "ALLOW", " allow", "allow\n", "permit", "block"} {
		got := verdict.Allow
		if err := got.UnmarshalText([]byte(word)); err == nil {
			t.Errorf("UnmarshalText(%q) took it as %s", word, got)
		}
		if got, err := verdict.Parse(word); err == nil || got != verdict.Deny {
			t.Errorf("Parse(%q) = %s, %v; want deny and an error", word, got, err)
		}
	}
	if got := verdict.Verdict(200).String(); got != "deny" {
		t.Errorf("what is no verdict reads %s, want deny", got)
	}
}
