package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const licencesName = "THIRD-PARTY-LICENCES.txt"

// licenceFile matches the names of files that a copy of the software must carry.
var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|unlicense)([-.].*)?$`)

// licence is one that software may be under, and what its text says.
type licence struct {
	id   string
	says *regexp.Regexp
}

// licences are recognized by what only they say, in this order.
var licences = []licence{
	{"Apache-2.0", regexp.MustCompile(`apache license,? version 2\.0`)},
	{"MPL-2.0", regexp.MustCompile(`mozilla public license,? version 2\.0`)},
	{"BSD-3-Clause", regexp.MustCompile(`redistribution and use in source and binary forms.*(neither (the )?name|` +
		`may not be used to endorse)`)},
	{"BSD-2-Clause", regexp.MustCompile(`redistribution and use in source and binary forms`)},
	{"MIT", regexp.MustCompile(`permission is hereby granted, free of charge`)},
	{"ISC", regexp.MustCompile(`permission to use, copy, modify,? and(/or)? distribute this software`)},
	{"Unlicense", regexp.MustCompile(`this is free and unencumbered software released into the public domain`)},
}

// readLicences returns the licence texts of a part and the names of the licences. A part without a licence that is
// known must not be given to others, so it is an error.
func readLicences(p part) (text string, ids []string, err error) {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return "", nil, fmt.Errorf("the licence of %s: %w", p.name, err)
	}
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(p.folder, entry.Name()))
		if err != nil {
			return "", nil, err
		}
		clean := strings.TrimSpace(strings.ReplaceAll(string(content), "\r", ""))
		text += "--- " + entry.Name() + "\n\n" + clean + "\n\n"
		if id := recognize(string(content)); id != "" && !strings.Contains(strings.Join(ids, " "), id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && p.kind == "npm" {
		return declaredLicence(p)
	}
	if len(ids) == 0 {
		return "", nil, fmt.Errorf("%s %s has no licence that is known, in %s", p.name, p.version, p.folder)
	}
	return text, ids, nil
}

// declaredLicence is what a package of npm says of itself, where it carries no text.
func declaredLicence(p part) (text string, ids []string, err error) {
	content, err := os.ReadFile(filepath.Join(p.folder, "package.json"))
	if err != nil {
		return "", nil, fmt.Errorf("the licence of %s: %w", p.name, err)
	}
	var declared struct{ License string }
	if err := json.Unmarshal(content, &declared); err != nil {
		return "", nil, fmt.Errorf("the licence of %s: %w", p.name, err)
	}
	known := func(l licence) bool { return l.id == declared.License }
	if !slices.ContainsFunc(licences, known) {
		return "", nil, fmt.Errorf("%s %s has no licence that is known, in %s", p.name, p.version, p.folder)
	}
	return "It says " + declared.License + " of itself, and carries no text.\n\n", []string{declared.License}, nil
}

func recognize(text string) string {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, l := range licences {
		if l.says.MatchString(words) {
			return l.id
		}
	}
	return ""
}

// writeLicences writes which licences the parts have, and their texts.
func (r *release) writeLicences(parts []part) error {
	return create(filepath.Join(r.out, licencesName), func(w io.Writer) error {
		var table, texts strings.Builder
		for _, p := range parts {
			text, ids, err := readLicences(p)
			if err != nil {
				return err
			}
			title := strings.TrimSpace(p.name + " " + p.version)
			fmt.Fprintf(&table, "%-70s %s\n", title, strings.Join(ids, " AND "))
			fmt.Fprintf(&texts, "\n=== %s\n\n%s", title, text)
		}
		_, err := fmt.Fprintf(w, "Writ %s is under the Apache License 2.0 (LICENSE). It contains:\n\n%s%s",
			r.version, table.String(), texts.String())
		return err
	})
}
