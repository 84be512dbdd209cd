package scan

import (
	"fmt"
	"strings"
)

// Severity is how much a finding matters. The zero value is no severity.
type Severity int

// The severities. From Medium on, a person should look before agents use the server.
const (
	Info Severity = iota + 1
	Low
	Medium
	High
	Critical
)

var severityNames = []string{"", "info", "low", "medium", "high", "critical"}

// String is the name of a severity.
func (s Severity) String() string {
	if s < Info || s > Critical {
		return ""
	}
	return severityNames[s]
}

// MarshalText writes a severity by its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a severity.
func (s *Severity) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSeverity(string(text))
	return err
}

// ParseSeverity reads the name of a severity.
func ParseSeverity(name string) (Severity, error) {
	for s := Info; s <= Critical; s++ {
		if severityNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("must be one of %s", strings.Join(severityNames[Info:], ", "))
}
