package connections_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestACallInAPersonsName goes from a call that nobody consented to, over the consent, to one that runs, and to the end
// of the consent. The server with an OAuth of its own is another Writ.
func TestACallInAPersonsName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		c := n.connect()
		if !n.recorded("connection.made") {
			t.Error("the connection is not recorded")
		}
		if text, failed := n.moor(n.key); failed || text != "moored" {
			t.Fatalf("with the consent: %s", text)
		}
		for _, row := range n.Dump() {
			if strings.Contains(row, "oat_") || strings.Contains(row, "ort_") {
				t.Errorf("a token is stored as it is: %.200s", row)
			}
		}
		// Another person's key has no token of the owner's.
		other := n.Join(n.owner, n.org, "member")
		text, failed := n.moor(n.AgentKey(other, n.org).APIKey)
		if !failed || !strings.Contains(text, "writ mcp connect harbour") || !strings.Contains(text, n.mcpID) {
			t.Errorf("with another person's key: %s", text)
		}
		if seen := n.list(other); len(seen) != 0 {
			t.Errorf("another person sees %+v", seen)
		}
		testserver.WantStatus(t, "another's connection", n.end(other, c.ID), http.StatusNotFound)
		if seen := n.list(n.owner); len(seen) != 1 || seen[0].ID != c.ID {
			t.Errorf("the owner sees %+v", seen)
		}
		if err := n.end(n.owner, c.ID); err != nil {
			t.Fatal(err)
		}
		if text, failed := n.moor(n.key); !failed || !strings.Contains(text, "consent") {
			t.Errorf("when it has ended: %s", text)
		}
		if calls := n.far.calls(); calls != 1 {
			t.Errorf("the tool ran %d times", calls)
		}
		if !n.recorded("connection.ended") || !n.farEnded() {
			t.Error("its end is not recorded here, or the far server was not told")
		}
	})
}

// TestAProxyApart: one in a process of its own gets the token of the person for an allow, and of nobody else.
func TestAProxyApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		proxy := testserver.StartProxy(t, "http://"+n.Address, permits...)
		at := "http://" + proxy.Address
		if text, failed := n.moorAt(at, n.key); !failed { // nobody knows its tools yet
			t.Errorf("before the consent: %s", text)
		}
		c := n.connect()
		if text, failed := n.moorAt(at, n.key); failed || text != "moored" {
			t.Fatalf("with the consent: %s", text)
		}
		if !n.recorded("mcp.secret_released") {
			t.Error("nobody recorded that the proxy got the token")
		}
		other := n.Join(n.owner, n.org, "member")
		if text, failed := n.moorAt(at, n.AgentKey(other, n.org).APIKey); !failed ||
			!strings.Contains(text, "writ mcp connect harbour") {
			t.Errorf("with another person's key: %s", text)
		}
		if err := n.end(n.owner, c.ID); err != nil {
			t.Fatal(err)
		}
		if text, failed := n.moorAt(at, n.key); !failed || !strings.Contains(text, "consent") {
			t.Errorf("when it has ended: %s", text)
		}
		if calls := n.far.calls(); calls != 1 {
			t.Errorf("the tool ran %d times", calls)
		}
	})
}

// farEnded reports whether the far server's consent has ended: it was told that the tokens are not used any more.
func (n *near) farEnded() bool {
	n.t.Helper()
	var list client.Page[struct {
		EndedAt *string `json:"endedAt"`
	}]
	err := n.far.owner.Call(n.t.Context(), http.MethodGet, "/organization/"+n.far.org+"/consents", nil, nil, &list)
	return err == nil && len(list.Items) == 1 && list.Items[0].EndedAt != nil
}

// TestTokensAreRenewed lets access tokens end, and then all.
func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		n.connect()
		for _, d := range []time.Duration{0, 11 * time.Minute, 11 * time.Minute} {
			n.Advance(d)
			n.far.Advance(d)
			if text, failed := n.moor(n.key); failed {
				t.Fatalf("after %s more: %s", d, text)
			}
		}
		// The far server ends the token, and this one does not know: it hears so, and renews it.
		n.far.Advance(11 * time.Minute)
		n.moor(n.key)
		if text, failed := n.moor(n.key); failed {
			t.Errorf("with the token after one that is refused: %s", text)
		}
		n.Advance(time.Hour)
		n.far.Advance(40 * 24 * time.Hour)
		text, failed := n.moor(n.key)
		if !failed || !strings.Contains(text, "writ mcp connect") || !n.recorded("connection.lost") {
			t.Errorf("when nothing can be renewed: %s", text)
		}
		if seen := n.list(n.SignIn(n.owner.Email)); len(seen) != 0 {
			t.Errorf("it is still listed: %+v", seen)
		}
	})
}

// TestAnAnswerBelongsToWhoAsked has others bring it, and brings it wrong and twice.
func TestAnAnswerBelongsToWhoAsked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		other := n.Join(n.owner, n.org, "admin")
		begin := func() m {
			t.Helper()
			s, err := n.start(n.owner)
			if err != nil {
				t.Fatal(err)
			}
			return n.consent(s)
		}
		back := begin()
		_, err := n.finish(other, back)
		testserver.WantStatus(t, "somebody else's answer", err, http.StatusNotFound)
		if _, err := n.finish(n.owner, back); err != nil {
			t.Fatalf("the owner's: %v", err)
		}
		_, err = n.finish(n.owner, back)
		testserver.WantStatus(t, "the answer again", err, http.StatusNotFound)
		for what, change := range map[string]m{
			"another issuer": {"iss": "https://evil.example.org"},
			"no issuer":      {"iss": ""},
			"no code":        {"code": ""},
			"another code":   {"code": "oac_another"},
			"a refusal":      {"error": "access_denied", "code": ""},
		} {
			back := begin()
			for name, value := range change {
				back[name] = value
			}
			if c, err := n.finish(n.owner, back); client.StatusOf(err) < 400 || client.StatusOf(err) > 499 {
				t.Errorf("%s: %+v, %v", what, c, err)
			}
		}
		late := begin()
		n.Advance(11 * time.Minute)
		_, err = n.finish(n.owner, late)
		testserver.WantStatus(t, "a late answer", err, http.StatusNotFound)
	})
}

// TestTokensGoNowhereElse moves the server after the consent, and takes the person's rights away.
func TestTokensGoNowhereElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		n.connect()
		elsewhere := n.far.OAuth.Resource("") // the same host, and another address
		_, err := n.owner.UpdateMCPServer(t.Context(), n.org, "harbour", m{"url": elsewhere})
		if err != nil {
			t.Fatal(err)
		}
		if text, failed := n.moor(n.key); !failed || !strings.Contains(text, "writ mcp connect") {
			t.Errorf("at another address: %s", text)
		}
		if calls := n.far.calls(); calls != 0 {
			t.Errorf("the tool ran %d times", calls)
		}
	})
}
