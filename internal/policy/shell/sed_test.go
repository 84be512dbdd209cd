package shell

import (
	"slices"
	"testing"
)

// TestSedFiles: of a script that is not understood, every file that it may write or read is listed.
func TestSedFiles(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`sed '/[;w]/w out/new' a.txt`:      "out/new",
		`sed 'w ${HOME}/other' a.txt`:      "${HOME}/other",
		`sed '1{w ../new; }' a.txt`:        "../new",
		"sed 'b w;:w;w up/x\n}' a.txt":     "up/x",
		`sed 's/[/]o/x/2w /srv/x' a.txt`:   "/srv/x",
		`sed -e 'y/abc/xyz/;wdir/x' a.txt`: "dir/x",
	} {
		if found := Parse(command); !found.Dynamic || !slices.Contains(found.Writes, want) {
			t.Errorf("%s: writes %q, want %s; dynamic %v", command, found.Writes, want, found.Dynamic)
		}
	}
	if found := Parse(`sed '1{r ../x; }' a.txt`); !slices.Contains(found.Reads, "../x") {
		t.Errorf("reads %q", found.Reads)
	}
}
