package shell

import "strings"

// ssh reads options that start local programs, and the remote command.
func ssh(s *scan, args []arg) {
	w := wrapper{short: "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:"}
	at, _ := w.skip(s, args)
	s.sshOptions(args[:at])
	if at+1 < len(args) {
		s.inner(args[at+1:])
	}
}

func (s *scan) sshOptions(args []arg) {
	for _, option := range values(args, 'o', "") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(option.text())), "=")
		name, _, _ = strings.Cut(name, " ")
		switch name {
		case "stricthostkeychecking", "userknownhostsfile", "connecttimeout", "batchmode", "serveraliveinterval", "loglevel", "port", "user", "identityfile", "identitiesonly", "forwardagent":
		default:
			s.dynamic = true
		}
	}
	if len(values(args, 'F', "")) > 0 || len(values(args, 'I', "")) > 0 {
		s.dynamic = true
	}
}

func scp(s *scan, args []arg) {
	s.sshOptions(args)
	if len(values(args, 'S', "")) > 0 || len(values(args, 'D', "")) > 0 {
		s.dynamic = true
	}
	s.destination(operands(args, "cFiJloPSD"))
}

// destination is the last operand, a local path unless it names a host.
func (s *scan) destination(paths []arg) {
	if len(paths) < 2 {
		return
	}
	last := paths[len(paths)-1]
	if host, _, remote := strings.Cut(last.text(), ":"); !remote || strings.Contains(host, "/") {
		s.write(last)
	}
}

func rsync(s *scan, args []arg) {
	for _, text := range values(args, 'e', "--rsh") {
		s.inner([]arg{text})
	}
	for _, a := range args[1:] {
		if abbreviates(a.text(), "--rsync-path") && len(a.text()) > 5 {
			s.dynamic = true
		}
	}
	s.destination(operands(args, "efBMT", "--rsh", "--exclude", "--include", "--filter", "--files-from",
		"--exclude-from", "--include-from", "--bwlimit", "--timeout", "--port"))
}

// containers reads the command that is started in a container, like a local one.
func containers(s *scan, args []arg) {
	s.shellsWithin(args)
	for i := 1; i < len(args); i++ {
		if args[i].text() == "--" && i+1 < len(args) && args[i].exact { // kubectl exec pod -- command
			s.subshell(func() { s.call(args[i+1:]) })
			return
		}
	}
}
