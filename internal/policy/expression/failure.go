package expression

import (
	"errors"
	"strings"

	"cel.dev/cel-go/interpreter"
)

// failure is why an evaluation failed, in words of our own. It never holds a
// value of a call: it is told to agents and kept in records.
type failure string

func (f failure) Error() string { return string(f) }

const (
	errTooMuchWork = failure("the condition takes too much work")
	errNotTruth    = failure("the condition is neither true nor false")
	errUnusable    = failure("a value has a form that the condition cannot use")
)

// harmless are the beginnings of messages of CEL that tell at most of types, and
// of keys, which are literals of the condition.
var harmless = []string{
	"no such key", "no such overload", "type conversion error", "division by zero", "modulus by zero",
	"integer overflow", "unsigned integer overflow", "duration overflow", "timestamp overflow",
}

// failureOf turns an error of an evaluation into one that may be told.
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
	for _, beginning := range harmless {
		if strings.HasPrefix(message, beginning) {
			return failure(message)
		}
	}
	if strings.HasPrefix(message, "index out of bounds") {
		return "index out of bounds"
	}
	return errUnusable
}
