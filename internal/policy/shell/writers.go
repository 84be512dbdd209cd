package shell

import (
	"path"
	"strings"
)

// writerHandlers are programs that change the files that their arguments name, by their
// names separated by spaces.
var writerHandlers = map[string]handler{
	"tee": every("", "--output-error"),
	"sponge rm rmdir unlink srm trash del-cli rename": every(""),
	"touch":        every("drt", "--date", "--reference"),
	"truncate":     every("sr", "--size", "--reference"),
	"mkdir mkfifo": every("m", "--mode"),
	"mknod":        every("m"),

	"shred":  every("ns"),
	"rimraf": every("", "--glob"),

	"mv":                      every("tS", "--target-directory", "--suffix"),
	"cp gcp install ginstall": copyTo,
	"ln":                      link,
	"dd":                      dd,

	"chmod chown chgrp": afterFirst(""),
	"chattr":            afterFirst("pv"),
	"setfacl":           every("mxMX"),

	"sed gsed": sed,
	"sort":     sortTo,
	"patch":    patch,
	"csplit":   alwaysDynamic,

	"curl": curl,
	"wget": wget,

	"unzip":                          unzip,
	"gzip gunzip bzip2 xz unxz zstd": compress,
	"cpio":                           cpio,
	"7z":                             sevenZip,
}

// sortTo reads sort, which can overwrite its input.
func sortTo(s *scan, args []arg) {
	flagged("--compress-program")(s, args)
	s.writeAll(values(args, 'o', "--output"))
}

// every is a handler for programs that change all their operands. The letters and names
// are options that take a value.
func every(short string, long ...string) handler {
	return func(s *scan, args []arg) {
		s.writeAll(operands(args, short, long...))
		s.writeAll(values(args, 0, "--target-directory"))
		if name := path.Base(args[0].text()); name == "mv" {
			s.writeAll(values(args, 't', ""))
		}
	}
}

// afterFirst is every for programs whose first operand is a mode or an owner.
func afterFirst(short string) handler {
	return func(s *scan, args []arg) {
		paths := operands(args, short, "--from")
		for _, a := range args[1:] {
			if abbreviates(a.text(), "--reference") && len(a.text()) > 4 {
				s.changeAll(paths)
				return
			}
		}
		if len(paths) > 1 {
			s.changeAll(paths[1:])
			return
		}
		s.changeAll(paths) // chmod -x file
	}
}

func (s *scan) changeAll(targets []arg) {
	for _, target := range targets {
		s.change(target)
	}
}

// copyTo reads a copy, which writes its last operand or the directory of -t.
func copyTo(s *scan, args []arg) {
	if into := values(args, 't', "--target-directory"); len(into) > 0 {
		s.writeAll(into)
		return
	}
	paths := operands(args, "Stmog", "--suffix", "--mode", "--owner", "--group", "--no-preserve", "--context")
	for _, a := range args[1:] {
		if path.Base(args[0].text()) == "install" && strings.HasPrefix(a.text(), "-") &&
			strings.Contains(a.text(), "d") && !strings.HasPrefix(a.text(), "--") {
			s.writeAll(paths)
			return
		}
	}
	if len(paths) > 1 {
		s.write(paths[len(paths)-1])
	}
}

func link(s *scan, args []arg) {
	if into := values(args, 't', "--target-directory"); len(into) > 0 {
		s.writeAll(into)
		return
	}
	switch paths := operands(args, "St", "--suffix"); len(paths) {
	case 0:
	case 1: // into the current directory
		s.write(literal(path.Base(paths[0].text())))
	default:
		s.write(paths[len(paths)-1])
	}
}

func dd(s *scan, args []arg) {
	for _, a := range args[1:] {
		if strings.HasPrefix(a.text(), "of=") {
			s.write(a.without(3))
		} else if !a.exact {
			s.dynamic = true
		}
	}
}

func patch(s *scan, args []arg) {
	if files := operands(args, "idoprBDFVYz"); len(files) > 0 {
		s.write(files[0])
	}
	for _, option := range []struct {
		letter byte
		long   string
	}{{'o', "--output"}, {'d', "--directory"}, {'r', "--reject-file"}} {
		s.writeAll(values(args, option.letter, option.long))
	}
}

// curl reads where a response is written. A file of options can hold any option.
func curl(s *scan, args []arg) {
	s.writeAll(values(args, 'o', "--output"))
	s.writeAll(values(args, 'D', "--dump-header"))
	s.writeAll(values(args, 'c', "--cookie-jar"))
	for _, name := range []string{
		"--output-dir", "--trace", "--trace-ascii", "--stderr", "--etag-save", "--hsts", "--alt-svc", "--libcurl",
	} {
		s.writeAll(exactly(args, name))
	}
	if len(values(args, 'K', "")) > 0 || len(exactly(args, "--config")) > 0 || len(exactly(args, "--engine")) > 0 {
		s.dynamic = true
	}
	for _, a := range args[1:] {
		text := a.text()
		remote := text == "--remote-name" || text == "--remote-name-all" ||
			strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, "O")
		if remote {
			s.remoteNames(operands(args, "odDcHXuAbeFTmwxEKUYyzr", "--header", "--data", "--request", "--output",
				"--user", "--retry", "--max-time"))
		}
	}
}

// remoteNames writes files with the last component of an address as their name.
func (s *scan) remoteNames(addresses []arg) {
	for _, a := range addresses {
		address, _, _ := strings.Cut(a.text(), "?")
		s.write(arg{alternatives: []string{path.Base(address)}, exact: a.exact, glob: a.glob})
	}
}

// exactly finds the values of a long option that is not abbreviated.
func exactly(args []arg, name string) []arg {
	var found []arg
	for i := 1; i < len(args); i++ {
		switch text := args[i].text(); {
		case text == name && i+1 < len(args):
			found = append(found, args[i+1])
		case strings.HasPrefix(text, name+"="):
			found = append(found, args[i].without(len(name)+1))
		}
	}
	return found
}

func wget(s *scan, args []arg) {
	outputs := append(values(args, 'O', "--output-document"), values(args, 'P', "--directory-prefix")...)
	s.writeAll(outputs)
	s.writeAll(append(values(args, 'o', "--output-file"), values(args, 'a', "--append-output")...))
	for _, a := range args[1:] {
		if text := a.text(); strings.HasPrefix(text, "--use-ask") || strings.HasPrefix(text, "--conf") ||
			strings.HasPrefix(text, "-e") || strings.HasPrefix(text, "--exe") {
			s.dynamic = true
		}
	}
	if len(outputs) == 0 {
		s.remoteNames(operands(args, "OPoaUTtwQAR", "--header", "--user-agent", "--timeout", "--tries"))
	}
}

func unzip(s *scan, args []arg) {
	for _, a := range args[1:] {
		if text := a.text(); strings.HasPrefix(text, "-") && strings.ContainsAny(text, "lptvzZ") {
			return
		}
	}
	if into := values(args, 'd', ""); len(into) > 0 {
		s.writeAll(into)
		return
	}
	s.write(literal("**"))
}

// compress reads programs that replace their files, unless they print.
func compress(s *scan, args []arg) {
	for _, a := range args[1:] {
		if text := a.text(); strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") &&
			strings.ContainsAny(text, "clt") || strings.HasPrefix(text, "--std") {
			return
		}
	}
	s.writeAll(operands(args, "SoT"))
}

func cpio(s *scan, args []arg) {
	for _, a := range args[1:] {
		text := a.text()
		if strings.HasPrefix(text, "--to") || strings.HasPrefix(text, "--rsh") || !a.exact {
			s.dynamic = true
		}
		if strings.HasPrefix(text, "-") && strings.ContainsAny(text, "ip") {
			s.write(literal("**"))
		}
	}
}

func sevenZip(s *scan, args []arg) {
	for _, a := range args[1:] {
		if strings.HasPrefix(a.text(), "-o") {
			s.write(a.without(2))
		}
	}
}
