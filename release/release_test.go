package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRecognizeLicences(t *testing.T) {
	for id, text := range map[string]string{
		"Apache-2.0":   "Apache License\n   Version 2.0, January 2004",
		"MIT":          "MIT License\n\nPermission is hereby granted, free of\ncharge, to any person",
		"BSD-2-Clause": "Redistribution and use in source and binary forms, with or without",
		"BSD-3-Clause": "Redistribution and use in source and binary forms ... Neither the name of Google",
		"ISC":          "Permission to use, copy, modify, and/or distribute this software",
		"MPL-2.0":      "Mozilla Public License Version 2.0",
		"":             "All rights reserved.",
	} {
		if got := recognize(text); got != id {
			t.Errorf("%q is taken for %q, want %q", text, got, id)
		}
	}
}

// TestLicenceIsRequired checks that nothing is given to others without a licence that allows it.
func TestLicenceIsRequired(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no file":                {"README.md": "MIT"},
		"an unknown licence":     {"LICENSE": "You may not."},
		"an unknown declaration": {"package.json": `{"license": "UNLICENSED"}`},
	} {
		folder := t.TempDir()
		for file, text := range files {
			write(t, filepath.Join(folder, file), text)
		}
		for _, kind := range []string{"golang", "npm"} {
			if _, ids, err := readLicences(part{kind, name, "v1", folder}); err == nil {
				t.Errorf("%s of %s is taken for %v", name, kind, ids)
			}
		}
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "package.json"), `{"license": "MIT"}`)
	if _, ids, err := readLicences(part{"npm", "declared", "1", folder}); err != nil || ids[0] != "MIT" {
		t.Errorf("a declared licence: %v, %v", ids, err)
	}
}

// TestArchivesAreEqual checks that neither the times nor the modes of files are in an archive.
func TestArchivesAreEqual(t *testing.T) {
	modified := time.Unix(1_900_000_000, 0).UTC()
	var tars, zips []string
	for _, at := range []time.Time{time.Unix(1, 0), time.Now()} {
		folder := t.TempDir()
		name := filepath.Join(folder, "program")
		write(t, name, "text")
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
		files := []file{{"program", 0o755, name}}
		var tarred, zipped bytes.Buffer
		if err := writeTar(&tarred, "writ", files, modified); err != nil {
			t.Fatal(err)
		}
		if err := writeZip(&zipped, "writ", files, modified); err != nil {
			t.Fatal(err)
		}
		tars, zips = append(tars, tarred.String()), append(zips, zipped.String())
	}
	if tars[0] != tars[1] || zips[0] != zips[1] {
		t.Error("two archives of the same files differ")
	}
}

func TestPlatforms(t *testing.T) {
	all, err := parsePlatforms(everywhere)
	if err != nil || len(all) != 6 {
		t.Errorf("%v, %v, want six platforms", all, err)
	}
	for _, list := range []string{"", "linux", "plan9/amd64", "linux/amd64,"} {
		if _, err := parsePlatforms(list); err == nil {
			t.Errorf("%q is accepted", list)
		}
	}
}

func TestPackageVersions(t *testing.T) {
	r := release{time: time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)}
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "bdf7c4bd": "0.0.0~20310501120000.bdf7c4bd",
	} {
		r.version = version
		if got := r.packageVersion(); got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
}

func TestPlacesOfHelp(t *testing.T) {
	for at, want := range map[[3]string]string{
		{"deb", "man1", "writ-login.1"}:      "/usr/share/man/man1/writ-login.1",
		{"deb", "completions", "writ.bash"}:  "/usr/share/bash-completion/completions/writ",
		{"deb", "completions", "_writ"}:      "/usr/share/zsh/vendor-completions/_writ",
		{"rpm", "completions", "_writ"}:      "/usr/share/zsh/site-functions/_writ",
		{"deb", "completions", "writd.fish"}: "/usr/share/fish/vendor_completions.d/writd.fish",
	} {
		if got := helpPlace(at[0], at[1], at[2]); got != want {
			t.Errorf("of a .%s, %s/%s goes to %s, want %s", at[0], at[1], at[2], got, want)
		}
	}
	if !hasManual.MatchString("Commands:\n  man         Write manual pages\n") ||
		hasManual.MatchString("  manifest  Write\n") {
		t.Error("the command that writes manual pages is not told from others")
	}
}

// TestOtherFilesAreRefused checks that results are not mixed with what was there: it would be listed as ours.
func TestOtherFilesAreRefused(t *testing.T) {
	r := release{out: t.TempDir()}
	write(t, filepath.Join(r.out, "other"), "text")
	if err := r.prepare(); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with another file: %v", err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
