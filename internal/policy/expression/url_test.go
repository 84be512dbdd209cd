package expression_test

import (
	"testing"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	const odd = "not a URL that all parsers read alike"
	for _, c := range []struct{ url, field, want string }{
		{"https://Example.COM/a", "host", "example.com"},
		{"https://example.com:8443/a", "host", "example.com"},
		{"https://example.com./a", "host", "example.com"},
		{"https://good.com@evil.com/", "host", "evil.com"},
		{"https://user:pw@example.com", "host", "example.com"},
		{"https://evil.com#@good.com", "host", "evil.com"},
		{"https://evil.com?@good.com", "host", "evil.com"},
		{"https://evil.com/good.com", "host", "evil.com"},
		{"HTTPS://x.io", "scheme", "https"},
		{"http://[::1]/", "host", "::1"},
		{"http://[0:0:0:0:0:0:0:1]:80/", "host", "::1"},
		{"http://[::ffff:127.0.0.1]/", "host", "127.0.0.1"},
		{"http://127.0.0.1/", "host", "127.0.0.1"},
		{"http://a_b.example/", "host", "a_b.example"},
		{"http://xn--bcher-kva.example/", "host", "xn--bcher-kva.example"},
		{"file:///etc/passwd", "host", ""},
		{"file:///etc/passwd", "path", "/etc/passwd"},
		{"file://server/share", "host", "server"},
		{"mailto:a@b.c", "scheme", "mailto"},
		{"mailto:a@b.c", "host", ""},
		{"http://x.io/a/../b", "path", "/b"},
		{"http://x.io/a/%2e%2e/b", "path", "/b"},
		{"http://x.io/a/", "path", "/a/"},
		{"http://x.io/a/..", "path", "/"},
		{"http://x.io", "path", ""},
		{"gopher://x.io/", "scheme", "gopher"},

		{"", "host", odd},
		{"example.com", "host", odd},
		{"//example.com/a", "host", odd},
		{"/a/b", "host", odd},
		{"http:example.com", "host", odd},
		{"http:/example.com", "host", odd},
		{"http:///example.com", "host", odd},
		{`http://good.com\@evil.com`, "host", odd},
		{`http:\\evil.com`, "host", odd},
		{`http://x.io/a\..\b`, "path", odd},
		{"http://evil.com\t.good.com", "host", odd},
		{"ht\ntp://evil.com", "host", odd},
		{" http://evil.com", "host", odd},
		{"http://evil.com ", "host", odd},
		{"http://a b.com", "host", odd},
		{"http://good.com%2eevil.com/", "host", odd},
		{"http://ｅｘａｍｐｌｅ.com/", "host", odd},
		{"http://bücher.example/", "host", odd},
		{"http://2130706433/", "host", odd},
		{"http://0x7f000001/", "host", odd},
		{"http://0x7f.1/", "host", odd},
		{"http://127.1/", "host", odd},
		{"http://0177.0.0.1/", "host", odd},
		{"http://127.0.0.1./", "host", "127.0.0.1"},
		{"http://1.2.3.4.5/", "host", odd},
		{"http://example.0x/", "host", odd},
		{"http://[::1%25eth0]/", "host", odd},
		{"http://[::1/", "host", odd},
		{"http://example.com:99999/", "host", odd},
		{"http://example.com:8o/", "host", odd},
		{"http://.example.com/", "host", odd},
		{"http://a..b/", "host", odd},
		{"http://example.com../", "host", odd},
		{"http://./", "host", odd},
		{"http://@/", "host", odd},
	} {
		t.Run(c.field+" of "+c.url, func(t *testing.T) {
			t.Parallel()
			call := &toolcall.Call{Args: map[string]any{"u": c.url, "want": c.want}}
			want := holds
			if c.want == odd {
				want = odd
			}
			wantResult(t, `url(args.u).`+c.field+` == args.want`, call, want)
		})
	}
}

func TestPortsOfURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"http://x.io": 80, "https://x.io": 443, "ws://x.io": 80, "wss://x.io/": 443, "ftp://x.io": 21,
		"https://x.io:8443": 8443, "https://x.io:": 443, "file:///x": 0, "ssh://x.io": 0, "ssh://x.io:22": 22,
	} {
		call := &toolcall.Call{Args: map[string]any{"u": text, "want": want}}
		wantResult(t, `url(args.u).port == int(args.want)`, call, holds)
	}
}

// FuzzURL looks for a host in another form than the one promised: two spellings
// of one host would be two hosts to a policy.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"https://Example.com:1/a?b#c", "http://a@b@c/", `http://a\b`, "http://[::1]", "x:y", "http://1.2",
		"http://%41/", "http://a.",
	} {
		f.Add(seed)
	}
	condition, problem := expression.Compile(`!url(args.u).host.matches("^([a-z0-9_-]+([.][a-z0-9_-]+)*|[0-9a-f:]+|)$")`)
	if problem != nil {
		f.Fatal(problem)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if odd, _ := condition.Eval(&toolcall.Call{Args: map[string]any{"u": text}}); odd {
			t.Errorf("%q has a host in an odd form", text)
		}
	})
}
