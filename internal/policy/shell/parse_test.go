package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		command string
		want    string // programs
		dynamic bool
	}{
		{"one", "ls -la", "ls", false},
		{"path", "/bin/rm -rf x", "rm", false},
		{"path through a parent", "./x/../rm a", "rm", false},
		{"quotes inside a name", `r""m a`, "rm", false},
		{"backslash", `\rm a`, "rm", false},
		{"single quotes", `'r'm a`, "rm", false},
		{"ANSI quotes", `$'\x72m' a`, "rm", false},
		{"pipe", "cat a | grep b | wc -l", "cat grep wc", false},
		{"list", "a && b || c; d\ne & f", "a b c d e f", false},
		{"substitution", "echo $(id) `whoami`", "echo id whoami", false},
		{"substitution in quotes", `echo "x $(id) y"`, "echo id", false},
		{"process substitution", "diff <(sort a) <(tac b)", "diff sort tac", false},
		{"output process substitution", "ls | tee >(wc -l)", "ls tee wc", false},
		{"subshell and block", "(a; { b; })", "a b", false},
		{"function body", "deploy() { kubectl get pods; }; deploy", "deploy kubectl", false},
		{"if", "if a; then b; elif c; then d; else e; fi", "a b c d e", false},
		{"loops", "for x in 1 2; do a $x; done; while b; do c; done; until d; do e; done", "a b c d e", false},
		{"case", "case $x in a) b;; *) c;; esac", "b c", false},
		{"here-document with substitution", "cat <<E\n$(id)\nE", "cat id", false},
		{"quoted here-document", "cat <<'E'\n$(id)\nE", "cat", false},
		{"here-document into a shell", "bash <<'E'\nrm -rf x\nE", "bash rm", false},
		{"here-string into a shell", "bash <<< 'rm -rf x'", "bash rm", false},
		{"sh -c", `sh -c "rm -rf x; id"`, "id rm sh", false},
		{"bash -ec", `bash -ec 'rm x'`, "bash rm", false},
		{"sh -c inside sh -c", `sh -c "sh -c 'sh -c id'"`, "id sh", false},
		{"eval", `eval "rm x"`, "eval rm", false},
		{"env", "env -i X=1 rm x", "env rm", false},
		{"env -u", "env -u HOME rm x", "env rm", false},
		{"env -S", `env -S "rm -rf x"`, "env rm", false},
		{"sudo with options", "sudo -u root -n -- rm x", "rm sudo", false},
		{"timeout", "timeout -s KILL 5 rm x", "rm timeout", false},
		{"nice twice", "nice -n 10 ionice -c 3 make", "ionice make nice", false},
		{"nohup stdbuf", "nohup stdbuf -oL make &", "make nohup stdbuf", false},
		{"time keyword", "time make", "make time", false},
		{"command -v asks", "command -v rm", "command", false},
		{"command runs", "command rm x", "command rm", false},
		{"exec", "exec rm x", "exec rm", false},
		{"busybox", "busybox rm x", "busybox rm", false},
		{"xargs", "find . -type f | xargs wc -l", "find wc xargs", false},
		{"xargs options", "ls | xargs -n 1 -P 4 grep foo", "grep ls xargs", false},
		{"find -exec", `find . -name x -exec grep y {} \;`, "find grep", false},
		{"find -exec +", `find . -exec grep y {} + -exec ls {} \;`, "find grep ls", false},
		{"fd -x", "fd -e go -x wc -l", "fd", true},
		{"flock -c", "flock /tmp/l -c 'id'", "flock id", false},
		{"watch", "watch -n 1 'ls | wc'", "ls watch wc", false},
		{"ssh", "ssh -p 22 host 'rm x; id'", "id rm ssh", false},
		{"uv run", "uv run pytest -q", "pytest uv", false},
		{"uv without run", "uv pip install x", "uv", false},
		{"brace expansion", "{rm,-rf,x}", "rm", false},
		{"brace in a name", "r{m,} x", "rm", false},
		{"pager by environment", "GIT_PAGER=cat git log", "cat git", false},
		{"unknown form of program", "'rm x'", "rm x", false},
		{"version of python", "python3.12 -m pytest", "python3.12", false},
		{"git subcommands", "git -C x rebase -x 'make test' main", "git make", false},
		{"git bisect run", "git bisect run make test", "git make", false},
		{"container shell", "docker run --rm alpine sh -c 'id'", "docker id sh", false},
		{"kubectl exec", "kubectl exec pod -- id", "id kubectl", false},
		{"look-alike", "rｍ x", "rｍ", false},
		{"large letters", "RM x", "RM rm", false},
		{"made executable and run", "chmod +x a.sh && ./a.sh", "a.sh chmod", false},
		{"slice of its own variable", "v=1.2.3; echo ${v:0:1}", "echo", false},
		{"user's name with a v", "sudo -uvictor rm x", "rm sudo", false},
		{"npm exec", "npm exec -- rm x", "npm rm", false},
		{"hyperfine", "hyperfine 'ls' 'rm x'", "hyperfine ls rm", false},
		{"xargs -i", "ls | xargs -i cat {}", "cat ls xargs", false},
		{"database from a file", "sqlite3 x < schema.sql", "sqlite3", false},
		{"Python environment", "source .venv/bin/activate && pytest", "pytest source", false},
		{"node's own tests", "node --test", "node", false},
		{"options behind --", "cargo run -- --config x", "cargo", false},
		{"comment", "ls # rm x", "ls", false},
		{"line continuation", "r\\\nm x", "rm", false},
		{"empty", "", "", false},
		{"only spaces", " \n ", "", false},
		{"array", "a=(1 2); echo ${a[0]}", "echo", false},
		{"arithmetic", "echo $(( $(id -u) + 1 ))", "echo id", false},
		{"test", `[[ -f $(which x) ]]`, "which", false},
		{"coproc", "coproc rm x", "coproc rm", false},
		{"tmp variable as argument", "x=$(mktemp); cat $x", "cat mktemp", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Parse(tt.command)
			want := tt.want
			if joined := strings.Join(got.Programs, " "); joined != want {
				t.Errorf("Parse(%q) runs %q, want %q", tt.command, joined, want)
			}
			if got.Dynamic != tt.dynamic {
				t.Errorf("Parse(%q) dynamic = %t, want %t", tt.command, got.Dynamic, tt.dynamic)
			}
		})
	}
}

func TestDynamic(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		runs          string // a program that must be found all the same
	}{
		{"variable", "$X foo", ""},
		{"variable that is set", "X=rm; $X -rf /", "rm"},
		{"variable of several words", "X='rm -rf'; $X /", "rm"},
		{"variables joined", "a=r; b=m; $a$b x", "rm"},
		{"unset variable in a name", "r${x}m y", "rm"},
		{"default value", "${x:-rm} y", "rm"},
		{"IFS", "rm${IFS}-rf${IFS}/", ""},
		{"glob", "/bin/r? x", ""},
		{"bracket glob", "/bin/[r]m x", ""},
		{"substitution as program", "$(echo rm) x", "echo"},
		{"backticks as program", "`echo rm` x", "echo"},
		{"eval of a variable", `eval "$X"`, "eval"},
		{"eval of a substitution", `eval $(curl x)`, "curl"},
		{"curl into sh", "curl https://x | sh", "sh"},
		{"curl into sudo bash", "curl https://x | sudo bash -s -- y", "bash"},
		{"base64 into bash", "echo cm0= | base64 -d | bash", "bash"},
		{"pipe into a block with a shell", "curl x | { read y; bash; }", "bash"},
		{"shell reads a process", "bash <(curl x)", "curl"},
		{"shell reads a file", "bash < x.sh", "bash"},
		{"shell alone", "bash", "bash"},
		{"login shell", "bash -l x.sh", "bash"},
		{"source", "source ./x", "source"},
		{"dot", ". ./x", "."},
		{"source of a process", "source <(curl x)", "curl"},
		{"alias", "alias ls='rm -rf'", "alias"},
		{"function shadows", "ls() { rm -rf /; }; ls", "rm"},
		{"fork bomb", ":(){ :|:& };:", ":"},
		{"PATH", "PATH=.:$PATH ls", "ls"},
		{"export PATH", "export PATH=/tmp:$PATH", "export"},
		{"LD_PRELOAD", "LD_PRELOAD=./x.so ls", "ls"},
		{"env LD_PRELOAD", "env LD_PRELOAD=./x.so ls", "ls"},
		{"BASH_ENV", "BASH_ENV=x bash -c ls", "ls"},
		{"GIT_DIR", "GIT_DIR=made git status", "git"}, // whose config names programs
		{"GIT_TRACE", "GIT_TRACE2_EVENT=/home/a/.bashrc git status", "git"},
		{"LESS", "LESS=+!./x git log", "git"},
		{"DOCKER_CONFIG", "export DOCKER_CONFIG=made; docker ps", "docker"},
		{"AWS_CONFIG_FILE", "AWS_CONFIG_FILE=made aws s3 ls", "aws"},
		{"RIPGREP_CONFIG_PATH", "env RIPGREP_CONFIG_PATH=made rg a", "rg"},
		{"npm_config", "npm_config_script_shell=./x npm ls", "npm"},
		{"CARGO_HOME", "CARGO_HOME=made cargo metadata", "cargo"},
		{"PROMPT_COMMAND", "PROMPT_COMMAND='rm x'", ""},
		{"command export", "command export PATH=x", "export"},
		{"trap", "trap 'rm -rf /' EXIT", "rm"},
		{"parse error", "rm -rf / ;; (", "rm"},
		{"unclosed quote", "ls; rm 'x", "rm"},
		{"carriage return", "ls\rrm x", "rm"},
		{"NUL", "ls;rm\x00 x", "rm"},
		{"invalid UTF-8", "ls; rm \xff", "rm"},
		{"too long", "rm " + strings.Repeat("x", maxBytes), "rm"},
		{"too deep", strings.Repeat("(", 5000) + "rm" + strings.Repeat(")", 5000), "rm"},
		{"texts too deep", deepText(12), "eval"},
		{"python that prints", `python3 -c "print(1)"`, "python3"},
		{"home that is read", "read HOME; rm -rf $HOME/x", "rm"},
		{"python -c", `python3 -c 'import os; os.system("rm -rf /")'`, "python3"},
		{"python with renamed modules", `python3 -c 'import os, shutil as system; os.system("id")'`, "python3"},
		{"python from", `python3 -c 'from os import system as print; print("id")'`, "python3"},
		{"python formatted text", `python3 -c 'print(f"{x}")'`, "python3"},
		{"python from input", "echo 'import os' | python3", "python3"},
		{"python here-document", "python3 - <<'E'\nx\nE", "python3"},
		{"node member by text", `node -e 'process["mainModule"]["require"]("child_process")'`, "node"},
		{"node require", `node -e "require('child_process').exec('id')"`, "node"},
		{"perl -e", `perl -e 'exec "rm"'`, "perl"},
		{"perl -ne", `perl -lne 'system("id")' x`, "perl"},
		{"ruby -e", "ruby -e '`id`'", "ruby"},
		{"awk system", `awk 'BEGIN{system("id")}'`, "awk"},
		{"awk pipe", `awk '{print | "sh"}' x`, "awk"},
		{"awk getline", `awk 'BEGIN{"id" | getline x}'`, "awk"},
		{"awk writes", `awk '{print > "/etc/x"}' y`, "awk"},
		{"git -c pager", "git -c core.fsmonitor='rm x' status", "git"},
		{"git alias", "git -c alias.x='!rm y' x", "git"},
		{"git upload-pack", "git fetch --upload-pack='rm x' origin", "git"},
		{"git upload-pack shortened", "git fetch --upload-p='rm x' origin", "git"},
		{"git ext", "git clone 'ext::sh -c id'", "git"},
		{"git config alias", "git config alias.x '!id'", "git"},
		{"git hooks", "git config core.hooksPath /tmp/x", "git"},
		{"GIT_SSH_COMMAND", "GIT_SSH_COMMAND='rm -rf x' git fetch; $Y", "rm"},
		{"tar checkpoint", "tar cf x --checkpoint=1 --checkpoint-action=exec=sh y", "tar"},
		{"tar checkpoint shortened", "tar cf x --checkpoint=1 --checkpoint-act=exec=sh y", "tar"},
		{"tar to-command", "tar xf x --to-command='sh'", "tar"},
		{"ssh ProxyCommand", "ssh -o ProxyCommand='rm x' host", "ssh"},
		{"ssh ProxyCommand attached", "ssh -oProxyCommand='rm x' host", "ssh"},
		{"vim", "vim -c '!rm x' y", "vim"},
		{"make SHELL", "make SHELL=/tmp/x", "make"},
		{"make --eval", "make --eval='$(shell id)'", "make"},
		{"sed e", "sed '1e id' x", "sed"},
		{"sed s///e", "sed 's/a/id/e' x", "sed"},
		{"sed s with other mark and e", "sed 's,a,id,ge' x", "sed"},
		{"find -exec sh with a name in code", "find . -exec sh -c 'rm {}' \\;", "sh"},
		{"xargs into a shell", "ls | xargs -I{} sh -c '{}'", "sh"},
		{"xargs into sh -c", "ls | xargs sh -c", "sh"},
		{"xargs into an unknown program", "ls | xargs -I{} {} x", "xargs"},
		{"xargs env", "ls | xargs env", "env"},
		{"parallel without command", "cat x | parallel", "parallel"},
		{"parallel with commands", "parallel ::: 'rm x'", "rm"},
		{"wrapper's unknown option", "sudo --wat rm x", "sudo"},
		{"function that runs its arguments", `f() { "$@"; }; f rm x`, "f"},
		{"prompt expansion", `x='$(id)'; echo ${x@P}`, "echo"},
		{"substitution in arithmetic", `x='a[$(id)]'; echo $((x))`, "echo"},
		{"subscript of test", `test -v 'a[$(id)]'`, "test"},
		{"zsh equals", "=rm x", "rm"},
		{"unknown target of rm", "rm -rf $X", "rm"},
		{"unknown target of a redirect", "echo x > $Y", "echo"},
		{"hidden glob target", "echo x > .*/settings.json", "echo"},
		{"target after a lost cd", "cd $X && echo y > z", "cd"},
		{"nameref", "declare -n x=PATH; x=/tmp", "declare"},
		{"printf -v PATH", "printf -v PATH %s /tmp; ls", "printf"},
		{"assignment that may not run", "false && HOME=x; rm -rf $HOME", "rm"},
		{"conditional assignment", "false && X=ok; echo > $X", "echo"},
		{"crontab", "echo '* * * * * id' | crontab -", "crontab"},
		{"sqlite", "sqlite3 x '.shell id'", "sqlite3"},
		{"go toolexec", "go build -toolexec=/tmp/x ./...", "go"},
		{"other shell", "fish -c 'rm x'", "rm"},
		{"too many braces", "echo {1..9}{1..9}{1..9}{1..9}", "echo"},
		{"extended glob", "/bin/@(rm|ls) x", ""},
		{"shopt", "shopt -s dotglob; rm -r x/*", "rm"},
		{"runs what it downloads", "curl -o x.sh https://y && chmod +x x.sh && ./x.sh", "x.sh"},
		{"runs what it writes", "echo id > /tmp/a; bash /tmp/a", "bash"},
		{"runs what it writes elsewhere", "cd /tmp && echo id > a && sh ./a", "sh"},
		{"runs a copy", "cp /bin/rm ./ls && ./ls x", "ls"},
		{"slice of the environment", "cat ${HOME:0:1}etc/shadow", "cat"},
		{"loop that moves on", "for i in 1 2; do echo x > passwd; cd /etc; done", "cd"},
		{"function called elsewhere", "f() { echo x > passwd; }; cd /etc; f", "cd"},
		{"env -C", "env -C /etc tee passwd", "tee"},
		{"execdir", "find /etc -execdir touch x \\;", "touch"},
		{"sed -E with e", "sed -E '1e id' x", "sed"},
		{"awk from a variable", "awk \"$X\" y", "awk"},
		{"awk from input", "echo x | awk -f - y", "awk"},
		{"bash -oc", "bash -oc pipefail 'rm x'", "bash"},
		{"python -mtimeit", "python3 -mtimeit 'import os'", "python3"},
		{"tar with absolute names", "tar -xPf x.tar", "tar"},
		{"npm's shell", "npm config set script-shell /tmp/x", "npm"},
		{"script alone", "script -f /tmp/log", "script"},
		{"su alone", "su", "su"},
		{"database from a pipe", "cat x | sqlite3 y", "sqlite3"},
		{"variable read behind a wrapper", "X=a; command read X; echo > $X", "read"},
		{"variable read by a quoted name", `X=a; \read X; echo > $X`, "read"},
		{"variable declared behind a wrapper", "X=a; command declare X=/etc/x; echo > $X", "declare"},
		{"variable set by eval", "X=a; eval 'declare X=/etc/x'; echo > $X", "eval"},
		{"environment that it writes", "echo id > a/bin/activate; source a/bin/activate", "source"},
		{"environment elsewhere", "source ../a/bin/activate", "source"},
		{"mapfile -C", "mapfile -C 'rm' x", "mapfile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Parse(tt.command)
			if !got.Dynamic {
				t.Errorf("Parse(%.80q) = %+.200v, want dynamic", tt.command, got)
			}
			if tt.runs != "" && !slices.Contains(got.Programs, tt.runs) {
				t.Errorf("Parse(%.80q) runs %.200q, want %q among them", tt.command, got.Programs, tt.runs)
			}
		})
	}
}

// deepText wraps a command in evals, each quoted for the next.
func deepText(levels int) string {
	text := "id"
	for range levels {
		text = "eval '" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		if len(text) > maxBytes/4 {
			break
		}
	}
	return text
}

func TestWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, want string
		dynamic             bool
	}{
		{"redirect", "echo x > a/../b", "b", false},
		{"all redirects", "a > 1; b >> 2; c >| 3; d &> 4; e &>> 5; f <> 6; g 2> 7; h >& x", "1 2 3 4 5 6 7 x", false},
		{"descriptors are no files", "a 2>&1 >/dev/null 1>&2 3>&-", "", false},
		{"only a redirect", "> x", "x", false},
		{"block", "{ a; b; } > x", "x", false},
		{"tee", "a | tee -a x y", "x y", false},
		{"dd", "dd if=a of=b bs=1M", "b", false},
		{"cp", "cp a b c/", "c c/a c/b", false},
		{"cp -t", "cp -t d a b", "d d/a d/b", false},
		{"mv changes both", "mv a b", "a b b/a", false},
		{"ln", "ln -s a b", "b", false},
		{"ln of one", "ln -s ../a", "a", false},
		{"install", "install -m 755 a /usr/local/bin/a", "/usr/local/bin/a /usr/local/bin/a/a", false},
		{"rm", "rm -rf a -- -b", "-b a", false},
		{"rm home", "rm -rf ~/x/../y", "~/y", false},
		{"rm above home", "rm -rf ~/../x", "~/../x", false},
		{"rm HOME", `rm -rf "$HOME/x"`, "~/x", false},
		{"rm PWD", `rm -rf $PWD/x`, "x", false},
		{"chmod of a single operand", "chmod a", "a", false},
		{"chmod", "chmod -R 777 a b", "a b", false},
		{"chmod minus", "chmod -x a", "a", false},
		{"mkdir", "mkdir -p a/b", "a/b", false},
		{"touch", "touch -d yesterday a", "a", false},
		{"sed -i", "sed -i 's/a/b/' x y", "x y", false},
		{"sed -i.bak -e", "sed -i.bak -e 's/a/b/' -e '1d' x", "x", false},
		{"sed reads", "sed -n '1,20p' x", "", false},
		{"sed w", "sed 's/a/b/w out' x", "out", true},
		{"sed many commands", "sed -e '/a/,/b/{s|x|y|g;p}' -e '$!d' -e '/^$/d;5q' x", "", false},
		{"curl -o", "curl -sSL -o a https://x/b", "a", false},
		{"curl -so", "curl -so a https://x/b", "a", false},
		{"curl -O", "curl -LO https://x/b.tgz?c=d", "b.tgz", false},
		{"wget", "wget https://x/b.tgz", "b.tgz", false},
		{"wget -O", "wget -qO a https://x/b", "a", false},
		{"sort -o", "sort -o a b", "a", false},
		{"tar x", "tar xzf a.tgz -C /opt", "/opt", false},
		{"tar x here", "tar -xf a.tar", "**", false},
		{"tar c", "tar -czf a.tgz b", "a.tgz", false},
		{"find -delete", "find . -name '*.pyc' -delete", "**/*.pyc", false},
		{"find all -delete", "find / -delete", "/**", false},
		{"find -exec rm", `find a -name b -exec rm {} \;`, "a/**/b", false},
		{"variable", "x=a; echo > $x", "a", true},
		{"loop variable", `for f in a b; do touch "$f.txt"; done`, "a.txt b.txt", true},
		{"loop over pattern", `for f in src/*.go; do sed -i s/a/b/ "$f"; done`, "src/*.go", true},
		{"pattern", "rm build/*.o", "build/*.o", false},
		{"cd and write", "cd a && echo > b", "a/b", false},
		{"cd that may fail", "cd a; rm ../b", "../b b", false},
		{"cd absolute", "cd /etc && echo > passwd", "/etc/passwd", false},
		{"cd in a subshell", "(cd /etc && ls); echo > a", "a", false},
		{"cd home", "cd && rm x", "~/x", false},
		{"cd twice", "cd a && cd .. && touch b", "b", false},
		{"cd in chain", "cd a && make && cd b && touch c", "a/b/c", false},
		{"network device", "exec 3<>/dev/tcp/1.2.3.4/80", "/dev/tcp/1.2.3.4/80", false},
		{"xargs rm", "ls | xargs rm", "", true},
		{"process substitution", "ls | tee >(cat)", "", false},
		{"braces", "touch a{1,2}", "a1 a2", false},
		{"git through wrapper", "sudo tee /etc/x", "/etc/x", false},
		{"scp", "scp host:a b", "b", false},
		{"scp away", "scp a host:b", "", false},
		{"rsync", "rsync -av --delete a/ b/", "b", false},
		{"unzip", "unzip a.zip -d b", "b", false},
		{"unzip -l", "unzip -l a.zip", "", false},
		{"here-document", "cat > a <<'E'\nx > y\nE", "a", false},
		{"sh -c", "cd a && sh -c 'cd b && echo > c'", "a/b/c", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Parse(tt.command)
			if joined := strings.Join(got.Writes, " "); joined != tt.want || got.Dynamic != tt.dynamic {
				t.Errorf("Parse(%q) writes %q, dynamic %t; want %q, %t", tt.command, joined, got.Dynamic, tt.want,
					tt.dynamic)
			}
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, want string
	}{
		{"arguments", `cat ~/.s""sh/id_rsa`, "~/.ssh/id_rsa"},
		{"input", "tr a b < x", "a b x"},
		{"inner text", `sh -c 'cat x'`, "-c cat x x"},
		{"printing", "echo .env", ""},
		{"printed and taken", "echo .env | xargs cat", ".env cat"},
		{"printed into a word", "cat $(echo .env)", ".env"},
		{"here-string into xargs", "xargs cat <<< .env", ".env cat"},
		{"here-document into xargs", "xargs cat <<E\n.env\nE", ".env cat"},
		{"here-document into read", "while read f; do cat $f; done <<E\n.env\nE", ".env f"},
		{"printed substitution", "echo $(cat .env)", ".env"},
		{"program's path", "/tmp/x y", "/tmp/x y"},
		{"home", `cat "$HOME"/x`, "~/x"},
		{"every alternative", "for f in a b; do cat $f; done", "a b"},
		{"braces", "cat {a,b}", "a b"},
		{"another spelling", "cat /etc/.//shadow", "/etc/.//shadow /etc/shadow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(Parse(tt.command).Words, " "); got != tt.want {
				t.Errorf("Parse(%q) has words %q, want %q", tt.command, got, tt.want)
			}
		})
	}
}

// TestPaths: a program that is called by a path is told, however it is started.
func TestPaths(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"git status":            "",
		"./git status":          "./git",
		`"/tmp/x y/git" status`: "/tmp/x y/git",
		"ls src/git":            "",
		"A=1 env B=2 nice ./git; bin/sh -c /tmp/git": "./git /tmp/git bin/sh",
		"find . -exec ./git {} +":                    "./git",
		"echo $(~/bin/git)":                          "~/bin/git",
	} {
		if got := strings.Join(Parse(command).Paths, " "); got != want {
			t.Errorf("%s: called by a path: %q, want %q", command, got, want)
		}
	}
}
