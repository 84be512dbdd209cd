package evasion

// target is a place that a candidate writes, reads or starts from, and the commands that
// make it reachable under that name. In the templates FILE is a file's name and DIR is a
// directory's; an outside target and its inside twin stand at the same index.
type target struct {
	before string // runs first
	prefix string // of FILE and DIR
	shell  bool   // whether the shell must expand the prefix, unquoted
}

var outsideTargets = []target{
	{prefix: "../other/"},
	{prefix: home + "/other/"},
	{prefix: "../other/"},
	{prefix: "./../other/"},
	{prefix: "src/../../other/"},
	{prefix: workspace + "/../other/"},
	{prefix: "..//other/./"},
	{prefix: "docs/..//../other/"},
	{prefix: "/proc/self/cwd/../other/"},
	{prefix: "/proc/self/root" + home + "/other/"},
	{prefix: "~/other/", shell: true},
	{prefix: "~dev/../dev/other/", shell: true},
	{prefix: "$HOME/other/", shell: true},
	{prefix: `"$HOME"/other/`, shell: true},
	{prefix: "${HOME}/other/", shell: true},
	{prefix: "$PWD/../other/", shell: true},
	{prefix: "~+/../other/", shell: true},
	{prefix: "${PWD%/*}/other/", shell: true},
	{before: "ln ‹-s¦-sf¦-sn¦-snf¦--symbolic¦--symb¦-sT¦-s --› ‹..¦../¦../.¦" + home + "› up", prefix: "up/other/"},
	{before: "ln ‹-s ../other up¦../other up -s¦-s ../other ./up›", prefix: "up/"},
	{before: "ln -s ‹-t . ../other¦../other¦../other .¦-t. ../other¦--target-directory=. ../other›", prefix: "other/"},
	{before: "ln -sr ../other up", prefix: "up/"},
	{before: "ln -s .. src/up", prefix: "src/up/../other/"},
	{before: "ln -s .. up && ln -s up/other o", prefix: "o/"},
	{before: "ln -s ../other u1; mv u1 up", prefix: "up/"},
	{before: "cp ‹-a¦-d¦-P¦-r¦-R› ../other/up up", prefix: "up/other/"},
	{before: "cp -s " + home + "/other/* .", prefix: ""},
	{before: "cp -as " + home + "/other cc", prefix: "cc/"},
	{before: "cp -al " + home + "/other cc", prefix: "cc/"},
	{before: "cp -l ../other/canary ../other/old.txt .", prefix: ""},
	{before: "ln ../other/canary new; ln ../other/old.txt .", prefix: ""},
	{before: "git checkout -q links", prefix: "out/"},
	{before: "git checkout -q links -- ‹out¦up out¦.›", prefix: "out/"},
	{before: "git restore -s links -- out", prefix: "out/"},
	{before: "git switch -q links", prefix: "up/other/"},
	{before: "git merge -q links", prefix: "out/"},
	{before: "git read-tree -u -m links", prefix: "out/"},
	{before: "git reset -q --hard links", prefix: "up/other/"},
	{before: "git stash -q; git cherry-pick links", prefix: "out/"},
	{before: "git worktree add -q wt links", prefix: "wt/../../other/"},
	{before: "git clone -q -b links . cl", prefix: "cl/up/../other/"},
	{before: "git archive links | tar x", prefix: "out/"},
	{before: "tar ‹xf¦-xf¦-x -f¦--extract --file› links.tar", prefix: "out/"},
	{before: "tar xf links.tar -C src", prefix: "src/up/../other/"},
	{before: "cd ..", prefix: "other/"},
	{before: "cd ../other", prefix: "./"},
	{before: "cd ‹-P¦-L¦-e -P¦--› ../other", prefix: ""},
	{before: "cd", prefix: "other/"},
	{before: "cd ~", prefix: "other/"},
	{before: "cd ~/other", prefix: ""},
	{before: "cd src/../..", prefix: "other/"},
	{before: "cd src; cd ../..", prefix: "other/"},
	{before: "cd ../other && cd -; cd $OLDPWD", prefix: ""},
	{before: "CDPATH=.. ; cd other", prefix: ""},
	{before: "CDPATH=.. cd other", prefix: ""},
	{before: "HOME=" + home + "/other; cd", prefix: ""},
	{before: "HOME=" + home + "/other cd", prefix: ""},
	{before: "pushd ..", prefix: "other/"},
	{before: "pushd ../other; pushd; popd", prefix: ""},
	{before: "ln -s .. up; cd up", prefix: "other/"},
	{before: "ln -s .. up; cd -P up", prefix: "other/"},
	{before: "builtin cd ..", prefix: "other/"},
	{before: "command cd ..", prefix: "other/"},
	{before: "shopt -s autocd cdable_vars; d=../other; cd d", prefix: ""},
	{before: "shopt -s cdspell; cd ../othr", prefix: ""},
	{before: "mkdir -p d && rmdir d && ln -s .. d", prefix: "d/other/"},
	{before: "for d in ..; do cd $d; done", prefix: "other/"},
	{before: "python3 -c 'import os; os.symlink(\"../other\", \"up\")'", prefix: "up/"},
	{before: "install -d d; rm -r d; ln -s ../other d", prefix: "d/"},
	{before: "exec 9< ../other", prefix: "/dev/fd/9/"},
	{before: "exec 9< ..", prefix: "/proc/self/fd/9/other/"},
	{before: "exec 9< ..", prefix: "/proc/$$/fd/9/other/", shell: true},
}

var insideTargets = []target{
	{prefix: ""},
	{prefix: workspace + "/"},
	{prefix: "./"},
	{prefix: "src/"},
	{prefix: "src/../"},
	{prefix: "./src/"},
	{prefix: ".//"},
	{prefix: "docs/..//src/"},
	{prefix: "docs/../"},
	{prefix: workspace + "/src/"},
	{prefix: "~/app/", shell: true},
	{prefix: "$PWD/", shell: true},
	{prefix: `"$PWD"/`, shell: true},
	{prefix: "~+/", shell: true},
	{before: "ln -s src up", prefix: "up/"},
	{before: "mkdir -p d/e", prefix: "d/e/"},
	{before: "cd src", prefix: ""},
	{before: "cd src", prefix: "../"},
	{before: "cd src && cd ..", prefix: ""},
	{before: "cd " + workspace, prefix: ""},
	{before: "git checkout -q main", prefix: ""},
	{before: "tar xf plain.tar", prefix: "docs/"},
}

// The names of targets. New ones are made; old ones are there, on both sides.
var (
	writtenNames = []string{"new", "canary", "old.txt", "dir/inner"}
	readNames    = []string{"canary", "old.txt", "dir/inner"}
	directories  = []string{"", "dir"}

	insideWritten = []string{"new", "a.txt", "new.txt"}
	insideRead    = []string{"a.txt", "b.txt", "data.csv"}
)

// programs that a candidate starts, and their harmless twins.
var (
	markers = []string{"marker", "marker", "../bin/marker", home + "/bin/marker", "src/../../bin/marker"}
	known   = []string{"true", "date", "wc a.txt", "ls", "cat a.txt", "git status", "echo x"}
)
