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

// TestIntersectNeverWidens: what two limits have in common is within both, whichever comes first.
func TestIntersectNeverWidens(t *testing.T) {
	t.Parallel()
	paths := rapid.SampledFrom([]string{
		"/", "/srv", "/srv/a", "/srv-a", "~", "~/a", "~/a/b", "workspace", "workspace/out", "/home/ann",
	})
	hosts := rapid.SampledFrom([]string{"a.com:443", "a.com:80", "b.com:443"})
	draw := func(rt *rapid.T) confine.Limits {
		return confine.Limits{
			Write: rapid.SliceOfN(paths, 0, 4).Draw(rt, "write"),
			Read:  rapid.SliceOfN(paths, 0, 4).Draw(rt, "read"),
			Net:   rapid.SliceOfN(hosts, 0, 3).Draw(rt, "net"),
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw(rt), draw(rt)
		both := a.Intersect(b)
		if !both.Within(a) || !both.Within(b) {
			rt.Fatalf("%v is not within %v and %v", both, a, b)
		}
		if diff := cmp.Diff(both, b.Intersect(a), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("the order matters:\n%s", diff)
		}
		if a.Within(b) && !a.Within(both) {
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
