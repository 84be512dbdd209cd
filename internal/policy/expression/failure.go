package expression

import (
	"errors"
	"slices"
	"strings"

	"cel.dev/cel-go/interpreter"
)

// failure is why an evaluation failed. It never holds a value of a call, because agents
// see it and records store it.
type failure string

func (f failure) Error() string { return string(f) }

const (
	errTooMuchWork = failure("the condition takes too much work")
	errNotBool     = failure("the condition is neither true nor false")
	errUnusable    = failure("a value has a form that the condition cannot use")
	// errOtherType begins as CEL says it, which nobody understands who does not know CEL.
	errOtherType = failure("no such overload: " +
		"a value has another type than the condition takes, such as text for a number")
)

// harmless are prefixes of CEL's messages that reveal only types and keys, which are
// literals of the condition.
var harmless = []string{
	"no such key", "type conversion error", "division by zero", "modulus by zero",
	"integer overflow", "unsigned integer overflow", "duration overflow", "timestamp overflow",
}

// failureOf turns an evaluation's error into one that holds no values.
func failureOf(err error) failure {
	var ours failure
	if errors.As(err, &ours) {
		return ours
	}
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return errTooMuchWork
	}
	message := err.Error()
	if slices.ContainsFunc(harmless, func(prefix string) bool { return strings.HasPrefix(message, prefix) }) {
		return failure(message)
	}
	if strings.HasPrefix(message, "no such overload") {
		return errOtherType
	}
	if strings.HasPrefix(message, "index out of bounds") {
		return "index out of bounds"
	}
	return errUnusable
}
