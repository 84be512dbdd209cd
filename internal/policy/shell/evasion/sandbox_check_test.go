package evasion

import "testing"

// TestSandboxSeesHarm holds that nothing that leaves the workspace goes unseen, and that
// nothing else is taken for it: what the other tests find rests on this.
func TestSandboxSeesHarm(t *testing.T) {
	t.Parallel()
	const wrote, read, started, nothing = "wrote", "read", "started", "nothing"
	cases := []struct{ command, does string }{
		{"true", nothing},
		{"echo x > new.txt; rm -rf docs; chmod 700 src; ln -s .. up; cat a.txt; ls -la; git log", nothing},
		{"rm -rf ./* .git", nothing},
		{"echo x > ../other/new", wrote},
		{"echo x >> ../other/canary", wrote},
		{"chmod 644 ../other/canary", wrote},
		{"touch -d 2001-01-01 ../other/canary", wrote},
		{"touch -a ../other/canary", wrote},
		{"ln ../other/canary hard", wrote},
		{"ln -s a.txt ../other/l", wrote},
		{"rm ../other/canary", wrote},
		{"mv ../other/dir/inner ../other/dir/renamed", wrote},
		{"mkdir ../x", wrote},
		{"mv ../app ../moved", wrote},
		{"(sleep 0.1; echo x > ../other/new) & wait", wrote},
		{"cat ../other/canary", read},
		{"base64 ../other/old.txt", read},
		{"cp ../.secret mine", read},
		{"tar czf t.tgz ../other/dir", read},
		{"ls ../other/names", read},
		{"marker", started},
		{"marker > /dev/null 2>&1", started},
		{"../bin/marker", started},
		{"kill 1; kill -HUP 1; kill -INT 1; kill -QUIT 1; kill -SEGV 1; kill -ABRT 1; kill -9 1; sleep 0.1", nothing},
	}
	ran := 0
	runAll(t, len(cases), nil, func(i int) order { return bash(cases[i].command) }, func(i int, o outcome) {
		ran++
		c := cases[i]
		got := map[string]bool{
			wrote: len(o.Wrote) > 0, read: len(o.Read) > 0, started: o.Started, nothing: !o.harmful(),
		}
		if !got[c.does] {
			t.Errorf("%s: %v, want %s", c.command, o, c.does)
		}
	})
	if ran != len(cases) {
		t.Errorf("%d of %d commands ran", ran, len(cases))
	}
}
