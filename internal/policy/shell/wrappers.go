package shell

import "strings"

// wrapper is a program that starts another one, which its arguments name after its own
// options.
type wrapper struct {
	// short and long are its options in the form of getopt: a letter with a colon, or a
	// name with =, takes a value. An unknown option could take one too, so that its value
	// would look like the program: it makes the command Dynamic.
	short, long string
	operands    int    // arguments of its own before the program
	sets        bool   // name=value before the program sets a variable
	sub         string // the word that must come first: uv run, bundle exec
	describes   string // letters with which it describes a program instead of running it
	text        string // letter and name of an option that holds shell text
	shell       bool   // its arguments are joined and passed to a shell
	each        bool   // every argument is shell text
	chdir       string // letter and name of an option that changes the directory
	idle        bool   // without a program it does nothing
}

var wrappers = map[string]wrapper{
	"env": {
		short: "i0vu:C:S:P:",
		long:  "ignore-environment null unset= chdir= split-string= debug",
		sets:  true,
		text:  "S split-string",
		chdir: "C chdir",
		idle:  true,
	},
	"sudo": {chdir: "D chdir", short: "AbEeHiKkNnPSsVvBC:D:g:h:p:R:r:T:t:U:u:l", sets: true, describes: "lvV",
		long: "askpass background preserve-env chdir= group= set-home host= login non-interactive user= stdin shell validate version list prompt="},
	"doas":      {short: "Lnsa:C:u:"},
	"nohup":     {},
	"time":      {short: "pvaqo:f:", long: "portability verbose append output= format="},
	"timeout":   {short: "k:s:vfp", long: "preserve-status foreground kill-after= signal= verbose", operands: 1},
	"gtimeout":  {short: "k:s:vfp", long: "preserve-status foreground kill-after= signal= verbose", operands: 1},
	"nice":      {short: "n:0123456789", long: "adjustment="},
	"ionice":    {short: "c:n:tp:P:u:", long: "class= classdata= ignore pid=", idle: true},
	"renice":    {idle: true, short: "n:p:g:u:", operands: 99},
	"chrt":      {short: "bfiorRam", operands: 1},
	"taskset":   {short: "ac", operands: 1},
	"setsid":    {short: "cfw", long: "ctty fork wait"},
	"stdbuf":    {short: "i:o:e:", long: "input= output= error="},
	"command":   {short: "pvV", describes: "vV", idle: true},
	"builtin":   {idle: true},
	"exec":      {short: "cla:", idle: true},
	"noglob":    {},
	"nocorrect": {},
	"repeat":    {operands: 1},
	"busybox":   {long: "list help install", idle: true},
	"toybox":    {long: "list help", idle: true},
	"chroot":    {long: "userspec= groups= skip-chdir", operands: 1},
	"flock": {
		short:    "sxeonuFw:E:c:",
		long:     "shared exclusive unlock nonblock timeout= close command= conflict-exit-code= no-fork verbose",
		operands: 1,
		text:     "c command",
		idle:     true,
	},
	"strace": {
		short: "fFcCdhiqrtTvVwxyYzZkDo:e:p:s:u:E:a:b:I:O:S:P:X:U:", long: "follow-forks trace= output= summary-only",
	},
	"ltrace": {short: "cCfhiLrStTVbo:e:p:s:u:l:n:A:a:D:F:w:x:"},
	"valgrind": {
		short: "qvd",
		long:  "tool= leak-check= show-leak-kinds= track-origins= error-exitcode= log-file= suppressions= quiet verbose num-callers= trace-children=",
	},
	"watch": {
		short: "bcdegptwxn:q:",
		long:  "interval= differences color exec no-title beep errexit chgexit precise",
		shell: true,
	},
	"entr": {short: "acdnprsxz", shell: true},
	"script": {
		short: "aefqc:I:O:B:T:m:o:E:", long: "append command= return flush force quiet", operands: 1, text: "c command",
	},
	"su": {
		short: "lmpPfc:g:G:s:w:", long: "login command= shell= preserve-environment", operands: 1, text: "c command",
	},
	"runuser":  {short: "lmpPfc:g:G:s:u:w:", long: "login command= shell= user=", text: "c command"},
	"sg":       {short: "c:", operands: 1, text: "c", shell: true},
	"pkexec":   {long: "user= disable-internal-agent"},
	"gosu":     {operands: 1},
	"su-exec":  {operands: 1},
	"setpriv":  {},
	"unshare":  {short: "mupnirUCTfcR:S:G:w:", long: "mount uts ipc net pid user fork map-root-user root= wd="},
	"nsenter":  {short: "amuinpUCTeFZrwt:S:G:", long: "target= all"},
	"firejail": {long: "quiet noprofile net="},
	"fakeroot": {idle: true},
	"caffeinate": {
		short: "disumt:w:", idle: true},
	"xvfb-run": {short: "ae:f:n:s:w:", long: "auto-servernum server-args="},
	"unbuffer": {short: "p"},
	"rlwrap":   {},
	"systemd-run": {short: "tPGqru:p:E:M:H:", long: "user scope unit= pty pipe wait quiet",
		sets: false},
	"proxychains": {short: "qf:"},
	"torsocks":    {},
	"hyperfine": {
		short: "w:m:M:r:p:c:i:N",
		long:  "warmup= runs= min-runs= max-runs= export-json= export-markdown= ignore-failure",
		each:  true,
	},
	"uv": {
		sub:   "run",
		short: "qvp:m:",
		long:  "with= python= extra= group= no-project isolated frozen locked no-sync all-extras dev quiet directory= env-file= module=",
		idle:  true,
	},
	"poetry":      {sub: "run", idle: true},
	"pipenv":      {sub: "run", idle: true},
	"pdm":         {sub: "run", idle: true},
	"hatch":       {sub: "run", idle: true},
	"rye":         {sub: "run", idle: true},
	"bundle":      {sub: "exec", idle: true},
	"asdf":        {sub: "exec", idle: true},
	"mise":        {sub: "exec", idle: true, operands: 0},
	"direnv":      {sub: "exec", operands: 1, idle: true},
	"dotenv":      {short: "f:e:", idle: true},
	"npx":         {short: "yp:c:q", long: "yes no package= call= no-install quiet", text: "c call", idle: true},
	"bunx":        {idle: true},
	"corepack":    {idle: true},
	"cross-env":   {sets: true, idle: true},
	"dbus-launch": {long: "exit-with-session"},
	"arch":        {short: "x", long: "x86_64 arm64", idle: true},
	"nix-shell": {
		short:    "p:",
		long:     "run= command= pure packages=",
		text:     "- run",
		idle:     true,
		operands: 99,
	},
	"start-stop-daemon": {},
}

func (w wrapper) read(s *scan, args []arg) {
	if w.sub != "" {
		if len(args) < 2 || args[1].text() != w.sub || !args[1].exact {
			s.shellsWithin(args)
			return
		}
		args = args[1:]
	}
	texts := optionValues(args, w.text)
	for _, text := range texts {
		s.inner([]arg{text})
	}
	at, asks := w.skip(s, args)
	if len(optionValues(args[:at], w.chdir)) > 0 {
		before := s.dir
		defer func() { s.dir = before }()
		s.dir.lost = true
	}
	if asks {
		return
	}
	for skipped := 0; skipped < w.operands && at < len(args); skipped++ {
		at++
	}
	for w.sets && at < len(args) && strings.Contains(args[at].text(), "=") {
		name, _, _ := strings.Cut(args[at].text(), "=")
		s.environment(name, args[at].without(len(name)+1))
		at++
	}
	switch {
	case at < len(args) && w.text != "" && strings.HasPrefix(args[at].text(), "-"): // flock file -c text
	case at >= len(args):
		if !w.idle && len(texts) == 0 {
			s.dynamic = true // a shell, or the input
		}
	case w.each:
		for _, a := range args[at:] {
			s.inner([]arg{a})
		}
	case w.shell:
		s.inner(args[at:])
	default:
		s.call(args[at:])
	}
}

func optionValues(args []arg, option string) []arg {
	if option == "" {
		return nil
	}
	letter, long, _ := strings.Cut(option, " ")
	if long != "" {
		long = "--" + long
	}
	return values(args, letter[0], long)
}

// skip is the index after the wrapper's options, and whether they make it describe a
// program instead of running it.
func (w wrapper) skip(s *scan, args []arg) (at int, asks bool) {
	for at = 1; at < len(args); at++ {
		text := args[at].text()
		if text == "--" {
			return at + 1, asks
		}
		if len(text) < 2 || text[0] != '-' {
			return at, asks
		}
		if !args[at].exact {
			s.dynamic = true
		}
		known, next := false, false
		if strings.HasPrefix(text, "--") {
			known, next = w.longOption(text)
		} else {
			var describing bool
			known, next, describing = w.shortOptions(text[1:])
			asks = asks || describing
		}
		if !known {
			s.dynamic = true
		}
		if next {
			at++
		}
	}
	return min(at, len(args)), asks // an option may lack its value
}

// longOption reports whether an option is known, and whether its value is the next
// argument.
func (w wrapper) longOption(text string) (known, next bool) {
	if text == "--help" || text == "--version" {
		return true, false
	}
	_, _, joined := strings.Cut(text, "=")
	for option := range strings.FieldsSeq(w.long) {
		name, takes := strings.CutSuffix(option, "=")
		if abbreviates(text, "--"+name) {
			return true, takes && !joined
		}
	}
	return false, false
}

// shortOptions is longOption for a run of letters, and reports whether one of them makes
// the wrapper describe a program.
func (w wrapper) shortOptions(letters string) (known, next, asks bool) {
	for i := range len(letters) {
		at := strings.IndexByte(w.short, letters[i])
		if at < 0 || letters[i] == ':' {
			return false, false, asks
		}
		if at+1 < len(w.short) && w.short[at+1] == ':' {
			return true, i == len(letters)-1, asks
		}
		asks = asks || strings.IndexByte(w.describes, letters[i]) >= 0
	}
	return true, false, asks
}
