package confine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"writ/internal/confine"
)

func TestIntersect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b, want confine.Limits }{
		"the inner directory": {
			confine.Limits{Write: []string{"workspace", "/srv/a"}},
			confine.Limits{Write: []string{"workspace/out", "/srv"}},
			confine.Limits{Write: []string{"/srv/a", "workspace/out"}},
		},
		"nothing in common": {
			confine.Limits{Write: []string{"/srv-old"}, Net: []string{"a.com:443"}},
			confine.Limits{Write: []string{"/srv"}, Net: []string{"a.com:80"}},
			confine.Limits{},
		},
		"nobody knows where the workspace is": {
			confine.Limits{Write: []string{"workspace", "~/x"}},
			confine.Limits{Write: []string{"/home/ann"}},
			confine.Limits{},
		},
		"all is below the root": {
			confine.Limits{Write: []string{"workspace", "~/x"}}, confine.Limits{Write: []string{"/"}},
			confine.Limits{Write: []string{"workspace", "~/x"}},
		},
		"what one writes the other reads": {
			confine.Limits{Write: []string{"workspace"}}, confine.Limits{Read: []string{"workspace/src", "/usr"}},
			confine.Limits{Read: []string{"workspace/src"}},
		},
		"a read-only path that may lie in the workspace": {
			confine.Limits{Write: []string{"workspace"}, Read: []string{"/srv/app/keys"}},
			confine.Limits{Write: []string{"workspace"}},
			confine.Limits{Write: []string{"workspace"}, Protect: []string{"/srv/app/keys"}},
		},
		"a read-only path that both may read": {
			confine.Limits{Write: []string{"workspace"}, Read: []string{"/srv/app/keys"}},
			confine.Limits{Write: []string{"workspace"}, Read: []string{"/srv/app/keys"}},
			confine.Limits{Write: []string{"workspace"}, Read: []string{"/srv/app/keys"}},
		},
		"a read-only path that may lie between": {
			confine.Limits{Write: []string{"workspace", "workspace/a/out", "workspace/b"}},
			confine.Limits{Write: []string{"workspace"}, Read: []string{"/srv/app/a"}},
			confine.Limits{Write: []string{"workspace", "workspace/b"}, Protect: []string{"/srv/app/a"}},
		},
		"hosts": {
			confine.Limits{Net: []string{"b.com:443", "a.com:443"}},
			confine.Limits{Net: []string{"a.com:443", "b.com:443"}},
			confine.Limits{Net: []string{"a.com:443", "b.com:443"}},
		},
	} {
		if diff := cmp.Diff(c.want, c.a.Intersect(c.b), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// drawLimits draws any limits.
func drawLimits(rt *rapid.T) confine.Limits {
	paths := rapid.SampledFrom([]string{
		"/", "/srv", "/srv/a", "/srv-a", "~", "~/a", "~/a/b", "workspace", "workspace/out", "/home/ann",
	})
	hosts := rapid.SampledFrom([]string{"a.com:443", "a.com:80", "b.com:443"})
	return confine.Limits{
		Write:   rapid.SliceOfN(paths, 0, 4).Draw(rt, "write"),
		Read:    rapid.SliceOfN(paths, 0, 4).Draw(rt, "read"),
		Net:     rapid.SliceOfN(hosts, 0, 3).Draw(rt, "net"),
		Protect: rapid.SliceOfN(paths, 0, 2).Draw(rt, "protect"),
	}
}

// TestIntersectionsHoldAnywhere: wherever the workspace and the home turn out to be, an intersection permits
// nothing that one of its sides does not.
func TestIntersectionsHoldAnywhere(t *testing.T) {
	t.Parallel()
	places := rapid.SampledFrom([]string{"/srv", "/srv/a", "/srv/a/b", "/home/ann", "/home/ann/a", "/home/ann/a/b"})
	writable := rapid.SampledFrom([]string{"workspace", "workspace/b/out", "~", "/srv/a"})
	readable := rapid.SampledFrom([]string{
		"workspace/out", "~/a", "~/a/b", "/srv", "/srv/a/b", "/home/ann", "workspace",
	})
	files := []string{
		"/x", "/srv/x", "/srv/a/x", "/srv/a/b/x", "/srv/a/out/x", "/srv/out/x", "/srv-a/x", "/home/ann/x",
		"/home/ann/a/x",
		"/home/ann/a/b/x", "/home/ann/out/x", "/home/ann/a/out/x", "/home/ann/a/b/out/x", "/srv/a/b/out/x",
	}
	draw := func(rt *rapid.T) confine.Limits {
		return confine.Limits{
			Write: rapid.SliceOfN(writable, 0, 2).Draw(rt, "write"),
			Read:  rapid.SliceOfN(readable, 0, 3).Draw(rt, "read"),
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw(rt), draw(rt)
		workspace, home := places.Draw(rt, "workspace"), places.Draw(rt, "home")
		both := a.Intersect(b).In(workspace, home)
		for _, side := range []confine.Limits{a.In(workspace, home), b.In(workspace, home)} {
			for _, file := range files {
				for _, one := range []confine.Limits{{Read: []string{file}}, {Write: []string{file}}} {
					if one.Within(both) && !one.Within(side) {
						rt.Fatalf("%v permits %v, and %v does not", both, one, side)
					}
				}
			}
		}
	})
}

// TestIntersectNeverWidens: what two limits have in common is within both, whichever comes first.
func TestIntersectNeverWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawLimits(rt), drawLimits(rt)
		both := a.Intersect(b)
		if !both.Within(a) || !both.Within(b) {
			rt.Fatalf("%v is not within %v and %v", both, a, b)
		}
		if diff := cmp.Diff(both, b.Intersect(a), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("the order matters:\n%s", diff)
		}
		if a.Within(b) && len(both.Protect) == 0 && !a.Within(both) {
			rt.Fatalf("%v is within %v, but not within what they have in common: %v", a, b, both)
		}
		if !a.Within(a) || !(confine.Limits{}).Within(a) {
			rt.Fatalf("%v", a)
		}
	})
}

// TestReadOnlyInsideWritable: of two directories that contain each other the inner one counts, also in an intersection.
func TestReadOnlyInsideWritable(t *testing.T) {
	t.Parallel()
	held := confine.Limits{Write: []string{"workspace"}, Read: []string{"workspace/keys"}}
	for _, c := range []struct{ other, want confine.Limits }{
		{held, held},
		{confine.Limits{Write: []string{"workspace"}}, held},
		{confine.Limits{Write: []string{"workspace/keys"}}, confine.Limits{Read: []string{"workspace/keys"}}},
		{confine.Limits{Write: []string{"workspace/keys/a", "workspace/b"}},
			confine.Limits{Write: []string{"workspace/b"}, Read: []string{"workspace/keys/a"}}},
		{confine.Limits{Write: []string{"/"}}, held},
	} {
		for _, got := range []confine.Limits{held.Intersect(c.other), c.other.Intersect(held)} {
			if got.String() != c.want.String() || !got.Within(held) || !got.Within(c.other) {
				t.Errorf("%v and %v: %v, want %v", held, c.other, got, c.want)
			}
		}
	}
	for _, more := range []confine.Limits{
		{Write: []string{"workspace"}}, {Write: []string{"workspace/keys"}}, {Write: []string{"workspace/keys/a"}},
		{Write: []string{"workspace", "workspace/keys"}, Read: []string{"workspace/keys"}},
	} {
		if more.Within(held) {
			t.Errorf("%v is said to be within %v", more, held)
		}
	}
	if less := (confine.Limits{Write: []string{"workspace/out"}}); !less.Within(held) {
		t.Errorf("%v is said to exceed %v", less, held)
	}
}
