package decisions_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestManifestNarrowsAndNeverGrants registers manifests and judges calls.
func TestManifestNarrowsAndNeverGrants(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		const plan = `{"steps":[{"action":"search","mcp":"web"},{"action":"read_file","mcp":"fs"},{"action":"drop","mcp":"db"}]}`
		agent := w.Public.WithKey(w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal())
		token := w.Declared(agent.APIKey, testserver.PlanRequest(plan))
		allowed := func(tool, named string) bool {
			t.Helper()
			d, err := agent.Enforce(t.Context(), client.PlannedCall{Tool: tool, IntentToken: token, AgentID: named})
			if err != nil {
				t.Fatal(err)
			}
			return d.Allowed
		}
		register := func(lists m, want string) {
			t.Helper()
			var answer struct{ Status, ProxyEndpoint string }
			if err := agent.Call(t.Context(), http.MethodPost, "/iap/sdk/register", nil,
				testserver.Manifest("clerk", lists),
				&answer); err != nil || answer.Status != want {
				t.Fatalf("register: %+v, %v, want %s", answer, err, want)
			}
		}
		if !allowed("search", "") || !allowed("read_file", "") {
			t.Fatal("before it is registered the agent may not do what policy allows")
		}
		register(m{}, "none")
		if !allowed("search", "") {
			t.Error("a manifest that lists nothing narrows something")
		}
		register(m{"allow": []string{"web.*", "fs.*", "db.drop"}}, "active")
		if !allowed("search", "") || !allowed("read_file", "") {
			t.Error("what manifest and policy allow is denied")
		}
		if allowed("drop", "") {
			t.Error("a manifest grants what policy denies")
		}
		register(m{"allow": []string{"web.search"}}, "active")
		for _, named := range []string{"", "clerk", "somebody-else"} {
			if allowed("read_file", named) {
				t.Errorf("as %q the agent does what its manifest does not list", named)
			}
			if !allowed("search", named) {
				t.Errorf("as %q the agent may not do what its manifest lists", named)
			}
		}
		register(m{"allow": []string{"web.search", "fs.read_file"}}, "pending")
		if allowed("read_file", "") {
			t.Error("a wider manifest counts before a person has activated it")
		}
		policies, err := w.Owner.Policies(t.Context(),
			client.PolicyFilter{OrganizationID: w.Org, Name: "manifest clerk"}, client.List{})
		if err != nil || len(policies.Items) != 1 {
			t.Fatalf("the manifest's policy: %+v, %v", policies, err)
		}
		made := policies.Items[0]
		if _, err := w.Owner.ActivatePolicy(t.Context(), made.ID, made.PolicyVersion); err != nil {
			t.Fatal(err)
		}
		if !allowed("read_file", "") {
			t.Error("the wider manifest does not count after a person has activated it")
		}
		register(m{}, "none")
		if allowed("drop", "") || !allowed("read_file", "") {
			t.Error("a manifest that lists nothing ends the lists before")
		}
		var answer struct {
			Message       string
			PolicyVersion int `json:"policy_version"`
		}
		if err := agent.Call(t.Context(), http.MethodPost, "/iap/sdk/register", nil, testserver.Manifest("clerk", m{}),
			&answer); err != nil || !strings.Contains(answer.Message, "stay in force") || answer.PolicyVersion == 0 {
			t.Errorf("the answer does not say that the lists before stay: %+v, %v", answer, err)
		}
		if _, err := w.Owner.DeactivatePolicy(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		answer.PolicyVersion = 0
		if err := agent.Call(t.Context(), http.MethodPost, "/iap/sdk/register", nil, testserver.Manifest("clerk", m{}),
			&answer); err != nil || answer.Message != "the manifest lists nothing, so it narrows nothing" {
			t.Errorf("after a person has ended the lists: %+v, %v", answer, err)
		}
	})
}

// TestManifestsBelongToTheirKeys keeps keys from narrowing the agents of others.
func TestManifestsBelongToTheirKeys(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		first, second := w.Key, w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		register := func(key, agent string) int {
			return w.Request(t, "POST", "/iap/sdk/register",
				testserver.JSON(t, testserver.Manifest(agent, m{"allow": []string{"web.search"}})), "Authorization",
				"Bearer "+key).Status
		}
		for _, c := range []struct {
			name, key, agent string
			status           int
		}{
			{"the first", first, "clerk", 200}, {"the same again", first, "clerk", 200},
			{"an agent of another key", second, "clerk", 409},
			{"a second agent of one key", first, "buyer", 409}, {"an agent of its own", second, "buyer", 200},
		} {
			if got := register(c.key, c.agent); got != c.status {
				t.Errorf("%s: %d, want %d", c.name, got, c.status)
			}
		}
	})
}

// TestManifestsSayHowLongPlansLive: where the request for a token does not.
func TestManifestsSayHowLongPlansLive(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		other := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		life := func(key, agent string, expiresIn any) int64 {
			t.Helper()
			answer := w.Request(t, "POST", "/iap/sdk/token", testserver.JSON(t, m{
				"user_id": "u", "agent_id": agent, "expires_in": expiresIn,
				"plan": m{"goal": "g", "steps": []m{{"action": "search", "mcp": "web"}}},
			}), "Authorization", "Bearer "+key)
			var minted struct {
				Token struct {
					IssuedAt  int64 `json:"issued_at"`
					ExpiresAt int64 `json:"expires_at"`
				} `json:"token"`
			}
			if err := json.Unmarshal([]byte(answer.Body), &minted); err != nil || answer.Status >= 300 {
				t.Fatalf("mint: %d %s, %v", answer.Status, answer.Body, err)
			}
			return minted.Token.ExpiresAt - minted.Token.IssuedAt
		}
		register := func(ttl string) {
			t.Helper()
			body := strings.Replace(fullManifest, `"ttl_seconds":300`, `"ttl_seconds":`+ttl, 1)
			if answer := w.Request(t, "POST", "/iap/sdk/register", body, "Authorization",
				"Bearer "+w.Key); answer.Status != 200 {
				t.Fatalf("register: %d %s", answer.Status, answer.Body)
			}
		}
		if got := life(w.Key, "clerk", nil); got != 300 {
			t.Errorf("without a manifest: %d s", got)
		}
		register("77")
		for _, c := range []struct {
			name, key, agent string
			expiresIn        any
			want             int64
		}{
			{"as the manifest says", w.Key, "clerk", nil, 77},
			{"an agent that is not stated", w.Key, "__sdk_multiuser__", nil, 77},
			{"as the request says", w.Key, "clerk", 40, 40}, {"another agent", w.Key, "buyer", nil, 300},
			{"another key", other, "clerk", nil, 300},
		} {
			if got := life(c.key, c.agent, c.expiresIn); got != c.want {
				t.Errorf("%s: %d s, want %d", c.name, got, c.want)
			}
		}
		register("999999999999")
		if got := life(w.Key, "clerk", nil); got != 86_400 {
			t.Errorf("more than the organization allows: %d s", got)
		}
	})
}

// fullManifest has every member.
const fullManifest = `{"version":"v1","identity":{"api_key":"ak_live_SECRET1","user_id":"u","agent_id":"clerk"},"environment":"production",
	"proxy":{"url":"https://proxy.example.org","timeout":30,"max_retries":3},
	"mcp_servers":[{"id":"web","url":"https://web.example.org/mcp","description":"d","auth":"none"},{"id":"bank","url":"http://bank.example.org","auth":{"type":"bearer","token":"SECRET2"}},
		{"id":"fs","url":"http://fs.example.org","auth":{"type":"api_key","api_key":"SECRET3","header_name":"X-Key"}},{"id":"db","url":"http://db.example.org","auth":{"type":"none"}},{"id":"x","url":"http://x.example.org","auth":null}],
	"policy":{"allow":["web.*"],"deny":["bank.pay"]},"intent":{"ttl_seconds":300,"require_csrg":true}}`

// TestManifestsThatAreRefused changes a manifest that has everything.
func TestManifestsThatAreRefused(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		answer := w.Request(t, "POST", "/iap/sdk/register", fullManifest, "Authorization", "Bearer "+w.Key)
		if answer.Status != 200 {
			t.Fatalf("the whole manifest: %d %s", answer.Status, answer.Body)
		}
		for _, row := range w.Dump() {
			for _, secret := range []string{"SECRET1", "SECRET2", "SECRET3"} {
				if strings.Contains(row, secret) {
					t.Errorf("%s is stored: %.200s", secret, row)
				}
			}
		}
		for _, c := range []struct{ name, old, new string }{
			{"another version", `"v1"`, `"v2"`},
			{"no agent", `"agent_id":"clerk"`, `"agent_id":""`},
			{"an agent no policy can be named after", `"agent_id":"clerk"`, `"agent_id":"a b"`},
			{"no identity", `"identity":{"api_key":"ak_live_SECRET1","user_id":"u","agent_id":"clerk"},`, ``},
			{"another environment", `"production"`, `"staging"`},
			{"a proxy that is no URL", `"https://proxy.example.org"`, `"proxy"`},
			{"no time", `"timeout":30`, `"timeout":0`},
			{"less than no retries", `"max_retries":3`, `"max_retries":-1`},
			{"two servers of one id", `"id":"bank"`, `"id":"web"`},
			{"a server without an id", `"id":"bank"`, `"id":"a.b"`},
			{"a bearer without a token", `"token":"SECRET2"`, `"token":""`},
			{"a bearer with a key", `"token":"SECRET2"`, `"token":"t","api_key":"SECRET2"`},
			{"an auth nobody knows", `"type":"bearer"`, `"type":"basic"`},
			{"a tool without a server", `"web.*"`, `"search"`},
			{"a server with a star", `"web.*"`, `"*.search"`},
			{"no life", `"ttl_seconds":300`, `"ttl_seconds":0`},
			{"half a second", `"ttl_seconds":300`, `"ttl_seconds":0.5`},
			{"an unknown member", `"version"`, `"SECRET":1,"version"`},
			{"an unknown member of the policy", `"deny"`, `"denied"`},
			{"an unknown member of a server", `"description"`, `"desc"`},
			{"a member twice", `"version":"v1"`, `"version":"v1","version":"v1"`},
			{"another case", `"policy"`, `"Policy"`},
			{"a list of other things", `["bank.pay"]`, `[1]`},
		} {
			text := strings.Replace(fullManifest, c.old, c.new, 1)
			if text == fullManifest {
				t.Fatalf("%s: nothing changed", c.name)
			}
			answer := w.Request(t, "POST", "/iap/sdk/register", text, "Authorization", "Bearer "+w.Key)
			if fields := answer.ErrorFields(t, http.StatusBadRequest); len(fields) == 0 &&
				!strings.Contains(string(answer.Body), "policy.allow") {
				t.Errorf("%s: names no field: %s", c.name, answer.Body)
			}
			if strings.Contains(string(answer.Body), "SECRET") {
				t.Errorf("%s: the answer repeats a secret: %s", c.name, answer.Body)
			}
		}
	})
}

// TestPreflightsAreKept reads what preflights left.
func TestPreflightsAreKept(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		for _, tool := range []string{"search", "drop", "pay"} {
			body := `{"agent_id":"clerk","user_prompt":"my password is hunter2 and token ` + w.Key +
				`","tool_calls":[{"name":"x__` + tool + `","input":{"password":"hunter3"}}]}`
			if status, answer := w.Call("/iap/sdk/preflight", body, w.SDK()...); status != 200 {
				t.Fatalf("preflight: %d %v", status, answer)
			}
		}
		read := func(path string, p *testserver.Person) testserver.Answer {
			return w.Request(t, "GET", path+"?organizationId="+w.Org, "", testserver.Credentials(p.Client)...)
		}
		answer := read("/pap/decisions", w.Owner)
		if strings.Contains(string(answer.Body), w.Key) || strings.Contains(string(answer.Body), "hunter3") {
			t.Errorf("a preflight shows secrets: %s", answer.Body)
		}
		list := w.Members("decisions", answer)
		testserver.WantTypes(t, "decisions", list, map[string]string{
			"items[].id": "text", "items[].at": "text", "items[].decision": "text", "items[].agentId": "text",
			"items[].prompt": "text", "items[].tools[].tool": "text",
			"items[].tools[].server": "text", "items[].violations": "texts", "items[].auditIndex": "int",
			"hasMore": "bool",
		})
		var outcomes []string
		for _, item := range list["items"].([]any) {
			outcomes = append(outcomes, item.(map[string]any)["decision"].(string))
		}
		if got := strings.Join(outcomes, " "); got != "escalated rejected accepted" {
			t.Errorf("the outcomes are %s, newest first", got)
		}
		stats := w.Members("stats", read("/pap/stats/overview", w.Owner))
		if stats["total"] != 3.0 || stats["accepted"] != 1.0 || stats["rejected"] != 1.0 ||
			stats["escalated"] != 1.0 || stats["approximate"] != false {
			t.Errorf("the overview is %v", stats)
		}
		wantPreflightsFound(t, w)
		snapshot := w.Members("snapshot", read("/pap/policy/snapshot", w.Owner))
		if items := snapshot["items"].([]any); len(items) != 1 || items[0].(map[string]any)["name"] != "wired" {
			t.Errorf("the snapshot is %v", snapshot)
		}
		viewer := w.Join(w.Owner, w.Org, "viewer")
		if item := w.Members("decisions", read("/pap/decisions",
			viewer))["items"].([]any)[0].(map[string]any); item["prompt"] != nil {
			t.Errorf("a viewer reads a prompt: %v", item)
		}
		if answer := read("/pap/decisions", w.Person("stranger")); answer.Status != 403 {
			t.Errorf("a stranger: %d", answer.Status)
		}
	})
}

// wantPreflightsFound wants the three preflights found, counted and erased.
func wantPreflightsFound(t *testing.T, w *testserver.Published) {
	t.Helper()
	ask := func(path string) testserver.Answer {
		return w.Request(t, "GET", path+"&organizationId="+w.Org, "", testserver.Credentials(w.Owner.Client)...)
	}
	hourAgo := w.Ago(time.Hour)
	counted := func(when string, want map[string]float64) {
		t.Helper()
		for query, n := range want {
			list := w.Members("decisions", ask("/pap/decisions?"+query))
			stats := w.Members("stats", ask("/pap/stats/overview?"+query))
			series := w.Members("series", ask("/pap/stats/series?bucket=hour&"+query))
			sum := 0.0
			for _, bucket := range series["buckets"].([]any) {
				for _, count := range bucket.(map[string]any)["values"].(map[string]any) {
					sum += count.(float64)
				}
			}
			if got := float64(len(list["items"].([]any))); got != n || stats["total"] != n || sum != n {
				t.Errorf("%s, %s: %v listed, %v counted, %v in the series, want %v", when, query, got, stats["total"],
					sum, n)
			}
		}
	}
	counted("at first", map[string]float64{
		"days=1": 3, "agent=clerk": 3, "agent=nobody": 0, "tool=drop": 1, "tool=none": 0, "decision=rejected": 1,
		"agent=clerk&decision=accepted": 1, "tool=drop&decision=accepted": 0, "from=" + hourAgo: 3,
		"until=" + hourAgo: 0,
	})
	first := w.Members("decisions", ask("/pap/decisions?limit=2"))
	rest := w.Members("decisions", ask("/pap/decisions?limit=2&cursor="+first["nextCursor"].(string)))
	if len(first["items"].([]any)) != 2 || len(rest["items"].([]any)) != 1 || rest["hasMore"] != false {
		t.Errorf("pages of %v and %v", first, rest)
	}
	for query, field := range map[string]string{
		"decision=fine": "decision", "days=91": "days",
		"from=2030-01-02T00:00:00Z&until=2030-01-01T00:00:00Z": "until",
	} {
		for _, path := range []string{"/pap/decisions?", "/pap/stats/overview?", "/pap/stats/series?"} {
			if answer := ask(path + query); answer.Status != 400 || !strings.Contains(string(answer.Body), field) {
				t.Errorf("%s%s: %d %s", path, query, answer.Status, answer.Body)
			}
		}
	}
	index := int64(first["items"].([]any)[0].(map[string]any)["auditIndex"].(float64)) // that of pay
	if err := w.Owner.ErasePayload(t.Context(), w.Org, index, "asked to"); err != nil {
		t.Fatal(err)
	}
	counted("after one was erased", map[string]float64{
		"days=1": 3, "agent=clerk": 2, "tool=pay": 0, "decision=erased": 1, "decision=escalated": 0,
	})
}
