package expression_test

import (
	"testing"

	"writ/internal/toolcall"
)

func TestAddressesInRanges(t *testing.T) {
	t.Parallel()
	const odd = "not an IP address"
	for _, c := range []struct{ ip, ranges, want string }{
		{"10.1.2.3", `"10.0.0.0/8"`, holds},
		{"11.1.2.3", `"10.0.0.0/8"`, not},
		{"169.254.169.254", `["10.0.0.0/8", "169.254.0.0/16"]`, holds},
		{"::ffff:10.1.2.3", `"10.0.0.0/8"`, holds},
		{"::ffff:a01:203", `"10.0.0.0/8"`, holds},
		{"::1", `"::1/128"`, holds},
		{"0:0:0:0:0:0:0:1", `"::1/128"`, holds},
		{"FE80::1", `"fe80::/10"`, holds},
		{"::1", `"10.0.0.0/8"`, not},
		{"10.1.2.3", `"::/0"`, not},
		{"1.2.3.4", `"0.0.0.0/0"`, holds},
		{"1.2.3.4", `[]`, not},

		{"", `"0.0.0.0/0"`, odd},
		{"167837955", `"10.0.0.0/8"`, odd},
		{"0xa010203", `"10.0.0.0/8"`, odd},
		{"0xa.1.2.3", `"10.0.0.0/8"`, odd},
		{"012.1.2.3", `"10.0.0.0/8"`, odd},
		{"10.1.515", `"10.0.0.0/8"`, odd},
		{"10.1.2.3 ", `"10.0.0.0/8"`, odd},
		{"10.1.2.3/8", `"10.0.0.0/8"`, odd},
		{"10.1.2.256", `"10.0.0.0/8"`, odd},
		{"[::1]", `"::1/128"`, odd},
		{"fe80::1%eth0", `"fe80::/10"`, odd},
		{"localhost", `"127.0.0.0/8"`, odd},
		{"１.2.3.4", `"0.0.0.0/0"`, odd},
	} {
		t.Run(c.ip+" in "+c.ranges, func(t *testing.T) {
			t.Parallel()
			call := &toolcall.Call{Args: map[string]any{"ip": c.ip}}
			wantResult(t, `ip(args.ip).inCidr(`+c.ranges+`)`, call, c.want)
		})
	}
}

func TestTheHostOfAURLIsAnAddress(t *testing.T) {
	t.Parallel()
	call := &toolcall.Call{Args: map[string]any{"u": "http://[::ffff:169.254.169.254]/latest/meta-data"}}
	wantResult(t, `ip(url(args.u).host).inCidr("169.254.0.0/16")`, call, holds)
}
