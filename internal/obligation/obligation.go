// Package obligation says what whoever carries a call out must do with its result: leave members out, label it, give
// on no more than so many bytes. It is pure and imports nothing of ours.
package obligation

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what a rule may demand.
const (
	MaxEntries = 64
	MaxLength  = 200 // of an entry, in bytes
	MaxBytes   = 64 << 20
)

// Set is what must be done with a result. The zero value is nothing.
type Set struct {
	// Redact are members whose values are left out, wherever in the result they are: NAME, or OUTER.NAME for one
	// directly within another, where a star stands for any name. Arrays are looked through.
	Redact []string `json:"redact,omitempty" yaml:"redact,omitempty"`
	// Labels are told with the result.
	Labels []string `json:"labels,omitempty" yaml:"labels,omitempty"`
	// MaxBytes is how large the result may be, as JSON; 0: as large as any.
	MaxBytes int64 `json:"max_bytes,omitzero" yaml:"max_bytes,omitempty"`
}

// IsZero reports whether nothing is demanded.
func (s *Set) IsZero() bool {
	return s == nil || len(s.Redact) == 0 && len(s.Labels) == 0 && s.MaxBytes == 0
}

// Both is what two sets demand together; nil: nothing. It changes neither.
func Both(a, b *Set) *Set {
	switch {
	case a.IsZero():
		return b
	case b.IsZero():
		return a
	}
	both := &Set{Redact: union(a.Redact, b.Redact), Labels: union(a.Labels, b.Labels), MaxBytes: a.MaxBytes}
	if both.MaxBytes == 0 || b.MaxBytes != 0 && b.MaxBytes < both.MaxBytes {
		both.MaxBytes = b.MaxBytes
	}
	return both
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Check reports what is wrong with the set, naming the field.
func (s *Set) Check() error {
	if len(s.Redact) > MaxEntries || len(s.Labels) > MaxEntries {
		return fmt.Errorf("has more than %d entries", MaxEntries)
	}
	for i, entry := range s.Redact {
		if err := CheckMember(entry); err != nil {
			return fmt.Errorf("redact[%d]: %w", i, err)
		}
	}
	for i, entry := range s.Labels {
		if err := CheckLabel(entry); err != nil {
			return fmt.Errorf("labels[%d]: %w", i, err)
		}
	}
	if s.MaxBytes < 0 || s.MaxBytes > MaxBytes {
		return fmt.Errorf("max_bytes: must be 1 to %d", MaxBytes)
	}
	return nil
}

// CheckMember reports what is wrong with an entry of Redact.
func CheckMember(entry string) error {
	if err := checkText(entry); err != nil {
		return err
	}
	if slices.Contains(strings.Split(entry, "."), "") {
		return fmt.Errorf("must be the name of a member, or names with dots between, such as customer.email")
	}
	return nil
}

// CheckLabel reports what is wrong with a label.
func CheckLabel(entry string) error { return checkText(entry) }

func checkText(entry string) error {
	if entry == "" || len(entry) > MaxLength || !utf8.ValidString(entry) ||
		strings.ContainsFunc(entry, unicode.IsControl) {
		return fmt.Errorf("must be 1 to %d bytes of text without control characters", MaxLength)
	}
	return nil
}
