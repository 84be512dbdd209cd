package intent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestMint(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		seconds := 90.2
		r := request(twoSteps)
		r.ExpiresIn, r.Policy = &seconds, []byte(`{"allow":["*"],"n":1.0}`)
		m := e.mint(e.agent, r)

		if err := plan.VerifySignature(toJSON(t, m.Token)); err != nil {
			t.Errorf("token: %v", err)
		}
		now := e.DB.Now()
		if m.Token.IssuedAt != now.Unix() || m.Token.ExpiresAt != now.Unix()+91 || m.Token.Version != "1.0" ||
			string(m.Token.Policy) != `{"allow":["*"],"n":1}` {
			t.Errorf("token = %+v", m.Token)
		}
		if m.PlanHash != m.MerkleRoot || m.PlanHash != m.Token.PlanHash || m.CompositeIdentity != m.Token.Identity ||
			len(m.CompositeIdentity) != 64 {
			t.Errorf("minted = %+v", m)
		}
		if len(m.StepProofs) != 2 {
			t.Fatalf("%d proofs for 2 steps", len(m.StepProofs))
		}
		for i, name := range []string{`"Read"`, `"Bash"`} {
			if !plan.CheckProof(m.MerkleRoot, plan.Leaf{Path: plan.ActionPath(i), Digest: plan.DigestOf([]byte(name))},
				m.StepProofs[i]) {
				t.Errorf("the proof of step %d does not hold", i)
			}
		}
		entries, err := audit.ReadEntries(t.Context(), e.DB, e.acme, 0, 10)
		if err != nil || len(entries) != 1 || entries[0].Action != "plan.minted" ||
			!strings.Contains(entries[0].Payload, m.PlanHash) ||
			!strings.Contains(entries[0].Record, m.PlanID) ||
			!strings.Contains(entries[0].Payload, `"tools":["fs.Read","sh.Bash"]`) {
			t.Errorf("log = %+v, %v", entries, err)
		}
		if e.generation(e.acme) != 0 {
			t.Error("a new plan makes old what others remember")
		}
		if again := e.mint(e.agent, r); again.PlanID == m.PlanID {
			t.Error("a second mint gives the same plan")
		}
	})
}

func TestJWTIsSignedWithItsOwnKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(twoSteps))
		sealer, err := secret.NewSealer([]byte(strings.Repeat("\x01", secret.MasterKeySize)))
		if err != nil {
			t.Fatal(err)
		}
		ring := keyring.New(e.DB, e.Log, sealer)
		for purpose, want := range map[keyring.Purpose]bool{
			intent.JWTKey: true, intent.PlanKey: false, keyring.AccessToken: false,
		} {
			key, err := ring.Current(t.Context(), purpose)
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.VerifyJWT(m.JWT, key.Public, e.DB.Now())
			if (err == nil) != want || want && got.PlanID != m.PlanID {
				t.Errorf("with the key for %s: %+v, %v", purpose, got, err)
			}
			if signs := hex.EncodeToString(key.Public) == m.Token.PublicKey; signs != (purpose == intent.PlanKey) {
				t.Errorf("the key for %s signs the token: %t", purpose, signs)
			}
		}
	})
}

func TestSecretsAreStoredSealedOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const raw = `{"goal":"use password=hunter2hunter2","steps":[{"action":"Bash","params":{"command":"curl -H 'Authorization: Bearer abc123def456ghi'","api_key":"SUPERSECRETVALUE12345"}}],"metadata":{"source":"token=abcdefgh12345"}}`
		m := e.mint(e.agent, request(raw))
		stored := e.everything()
		for _, planted := range []string{
			"hunter2hunter2", "abc123def456ghi", "SUPERSECRETVALUE12345", "abcdefgh12345",
		} {
			if strings.Contains(stored, planted) {
				t.Errorf("%s is stored in the clear", planted)
			}
		}
		view, err := e.plans.Get(t.Context(), e.agent, m.PlanID)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"goal":"use password=[redacted]","steps":[{"action":"Bash","params":{"command":"curl -H 'Authorization: Bearer [redacted]'","api_key":"[redacted]"}}],"metadata":{"source":"token=[redacted]"}}`
		if string(view.Plan) != want {
			t.Errorf("shown = %s", view.Plan)
		}
		// Judged is the exact plan.
		args, err := plan.ParseArguments([]byte(`{"command":"curl -H 'Authorization: Bearer abc123def456ghi'","api_key":"SUPERSECRETVALUE12345"}`))
		if err != nil {
			t.Fatal(err)
		}
		d := e.find(e.acme, shown(m))
		if r := plan.Check(d, shown(m), plan.Call{Tool: "Bash", Arguments: args}, d.Binding, e.DB.Now()); !r.OK {
			t.Errorf("the planned call is refused: %s", r.Reason)
		}
	})
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		number := func(f float64) *float64 { return &f }
		tests := []struct {
			name string
			give intent.Request
			want time.Duration
		}{
			{"not stated", intent.Request{}, 300 * time.Second},
			{"the agent's", intent.Request{DefaultLife: 40 * time.Second}, 40 * time.Second},
			{"fraction", intent.Request{ExpiresIn: number(59.1)}, 60 * time.Second},
			{"nothing", intent.Request{ExpiresIn: number(0)}, time.Second},
			{"less than nothing", intent.Request{ExpiresIn: number(-5)}, time.Second},
			{"no number", intent.Request{ExpiresIn: number(math.Inf(-1))}, time.Second},
			{"a day", intent.Request{ExpiresIn: number(86400)}, 24 * time.Hour},
			{"more than a day", intent.Request{ExpiresIn: number(1e18)}, 24 * time.Hour},
			{
				"more than the organization's most",
				intent.Request{ExpiresIn: number(3600), MaxLife: 10 * time.Minute}, 10 * time.Minute,
			},
			{
				"the agent's beyond the organization's most",
				intent.Request{DefaultLife: time.Hour, MaxLife: time.Minute}, time.Minute,
			},
		}
		for _, tt := range tests {
			tt.give.Plan = []byte(twoSteps)
			m := e.mint(e.agent, tt.give)
			if got := time.Duration(m.Token.ExpiresAt-m.Token.IssuedAt) * time.Second; got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		ends := e.DB.Now().Add(10 * time.Second)
		short := e.agent
		short.ExpiresAt = &ends
		if m := e.mint(short, request(twoSteps)); m.Token.ExpiresAt != ends.Unix() {
			t.Errorf("the plan outlives its key: %d, the key ends at %d", m.Token.ExpiresAt, ends.Unix())
		}
	})
}

func TestMintRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		unscoped, unbound := e.agent, e.agent
		unscoped.Scopes = []principal.Scope{principal.Ingest, principal.CLI}
		unbound.OrgID = ""
		for name, p := range map[string]principal.Principal{
			"nobody": {}, "a person": testenv.Person(e.ada, e.acme, principal.Owner), "operator": principal.Operator(),
			"key without the scope": unscoped, "key of none": unbound,
		} {
			if _, err := e.plans.Mint(t.Context(), p, request(twoSteps)); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		for name, change := range map[string]func(r *intent.Request){
			"no plan":         func(r *intent.Request) { r.Plan = nil },
			"bad plan":        func(r *intent.Request) { r.Plan = []byte(`{"steps":[{}]}`) },
			"bad policy":      func(r *intent.Request) { r.Policy = []byte(`[1]`) },
			"unsignable":      func(r *intent.Request) { r.Policy = []byte(`{"x":1e-9}`) },
			"long user":       func(r *intent.Request) { r.UserID = strings.Repeat("x", 201) },
			"NUL in an agent": func(r *intent.Request) { r.AgentID = "a\x00" },
			"bad UTF-8":       func(r *intent.Request) { r.ContextID = "\xff" },
			"long request":    func(r *intent.Request) { r.IdempotencyKey = strings.Repeat("x", 256) },
		} {
			r := request(twoSteps)
			change(&r)
			if _, err := e.plans.Mint(t.Context(), e.agent, r); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: err = %v, want invalid", name, err)
			}
		}
		if _, err := e.plans.Mint(t.Context(), e.agent,
			request(`{"goal":"`+strings.Repeat("x", 1<<20)+`"}`)); !fault.Is(err, fault.TooLarge) {
			t.Errorf("1 MB: err = %v, want too large", err)
		}
		if got := e.actions(e.acme); got != "" {
			t.Errorf("refusals left%s in the log", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.plans.Mint(ctx, e.agent, request(twoSteps))
		testenv.WantFault(t, "mint", err, fault.Unavailable)
	})
}

func TestTheLargestPlanIsMinted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var steps []string
		for i := range plan.MaxSteps {
			steps = append(steps, fmt.Sprintf(`{"action":"%03d%s","mcp":"%s"}`, i, strings.Repeat("t", 197),
				strings.Repeat("s", 200)))
		}
		m := e.mint(e.agent,
			request(`{"goal":"`+strings.Repeat("g", 20_000)+`","steps":[`+strings.Join(steps, ",")+`]}`))
		if d := e.find(e.acme, shown(m)); d == nil || len(d.Plan.Steps) != plan.MaxSteps ||
			len(m.StepProofs) != plan.MaxSteps {
			t.Error("not all of it was kept")
		}
		entries, err := audit.ReadEntries(t.Context(), e.DB, e.acme, 0, 1)
		if err != nil || !strings.Contains(entries[0].Payload, `"steps":500`) || len(entries[0].Payload) > 64<<10 {
			t.Errorf("the log has %d bytes about it (%v)", len(entries[0].Payload), err)
		}
	})
}

func TestNULInAPlanIsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent,
			request(`{"goal":"a\u0000b","steps":[{"action":"a","params":{"x":"\u0000"}}],"metadata":{"source":"s\u0000"}}`))
		if d := e.find(e.acme, shown(m)); d == nil || d.Plan.Goal != "a\x00b" {
			t.Errorf("found %+v", d)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r := request(twoSteps)
		r.IdempotencyKey = "k1"
		first := e.mint(e.agent, r)
		e.Pass(time.Minute)
		again := e.mint(e.agent, r)
		if !again.Repeated || first.Repeated || string(toJSON(t, first)) != string(toJSON(t, again)) {
			t.Errorf("again = %s\nfirst = %s", toJSON(t, again), toJSON(t, first))
		}
		if got := e.actions(e.acme); got != " plan.minted" {
			t.Errorf("log:%s, want one plan", got)
		}
		for name, change := range map[string]func(r *intent.Request){
			"plan":     func(r *intent.Request) { r.Plan = []byte(`{"steps":[]}`) },
			"policy":   func(r *intent.Request) { r.Policy = []byte(`{"a":1}`) },
			"user":     func(r *intent.Request) { r.UserID = "u2" },
			"lifetime": func(r *intent.Request) { f := 5.0; r.ExpiresIn = &f },
		} {
			changed := r
			change(&changed)
			_, err := e.plans.Mint(t.Context(), e.agent, changed)
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("another %s: err = %v, want a conflict", name, err)
			}
		}
		spaced := r
		spaced.Plan = []byte(strings.ReplaceAll(twoSteps, ":", " : "))
		if m := e.mint(e.agent, spaced); m.PlanID != first.PlanID {
			t.Error("the same request in another spelling is another one")
		}
		if m := e.mint(e.other, r); m.PlanID == first.PlanID {
			t.Error("another key got this key's plan")
		}
		e.Pass(24 * time.Hour)
		if err := e.plans.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := e.mint(e.agent, r); m.PlanID == first.PlanID {
			t.Error("the request is remembered for more than a day")
		}
	})
}

func TestRepeatedRequestsAtOnceGiveOnePlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r := request(twoSteps)
		r.IdempotencyKey = "k1"
		ids := make([]string, 16)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				m, err := e.plans.Mint(context.Background(), e.agent, r)
				if err != nil {
					t.Errorf("mint: %v", err)
				}
				ids[i] = m.PlanID
			})
		}
		wg.Wait()
		if slices.Sort(ids); ids[0] == "" || ids[0] != ids[len(ids)-1] {
			t.Errorf("plans %v, want one", slices.Compact(ids))
		}
	})
}

const (
	selfPlanned = `{"steps":[{"action":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"make"}}}],"metadata":{"goal":"g","source":"claude-code"}}`
	registered  = `{"steps":[{"action":"Bash","tool":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"make"}}},{"action":"Read","tool":"Read","mcp":"claude-code"}],"metadata":{"goal":"g","source":"claude-registered"}}`
)

func TestSelfMadePlanIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		_, err := e.plans.Mint(t.Context(), e.agent, request(selfPlanned))
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Forbidden || !strings.Contains(f.Message, "register a plan") {
			t.Errorf("err = %v, want forbidden with words for the model", err)
		}
		// Every other plan of one step is an ordinary one.
		e.mint(e.agent, request(`{"goal":"pay","steps":[{"action":"pay","tool":"pay","mcp":"bank","params":{"n":1}}]}`))
		e.mint(e.agent, request(`{"goal":"g","steps":[{"action":"search","mcp":"web"}]}`))
	})
}

func TestSelfMadePlanUnderARegisteredOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		tests := []struct {
			name   string
			by     principal.Principal
			change func(holder, own *intent.Request)
			after  func(holder intent.Minted)
			want   bool
		}{
			{"held", e.agent, func(_, _ *intent.Request) {}, nil, true},
			{"another call", e.agent, func(_, own *intent.Request) {
				own.Plan = []byte(strings.Replace(selfPlanned, "make", "rm -rf /", 1))
			}, nil, false},
			{"another user", e.agent, func(_, own *intent.Request) { own.UserID = "u2" }, nil, false},
			{"another agent", e.agent, func(_, own *intent.Request) { own.AgentID = "a2" }, nil, false},
			{"another context", e.agent, func(_, own *intent.Request) { own.ContextID = "c2" }, nil, false},
			{"another key", e.other, func(_, _ *intent.Request) {}, nil, false},
			{"another organization", e.foreign, func(_, _ *intent.Request) {}, nil, false},
			{"ended", e.agent, func(_, _ *intent.Request) {}, func(m intent.Minted) {
				if _, err := e.plans.SetStatus(t.Context(), e.agent, m.PlanID, plan.Completed); err != nil {
					t.Fatal(err)
				}
			}, false},
			{
				"expired", e.agent, func(_, _ *intent.Request) {}, func(intent.Minted) { e.Pass(300 * time.Second) },
				false,
			},
			{"limited", e.agent, func(holder, _ *intent.Request) {
				holder.Plan = []byte(strings.Replace(registered, `"metadata"`, `"max_calls":1,"metadata"`, 1))
			}, nil, false},
		}
		for i, tt := range tests {
			holder, own := request(registered), request(selfPlanned)
			holder.SessionID = string(rune('a' + i))
			tt.change(&holder, &own)
			m := e.mint(e.agent, holder)
			if tt.after != nil {
				tt.after(m)
			}
			_, err := e.plans.Mint(t.Context(), tt.by, own)
			if (err == nil) != tt.want || err != nil && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want it let through: %t", tt.name, err, tt.want)
			}
			if _, err := e.plans.SetStatus(t.Context(), e.agent, m.PlanID, plan.Failed); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestSelfMadePlanEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		holder := e.mint(e.agent, request(registered))
		long := request(selfPlanned)
		hour := 3600.0
		long.ExpiresIn = &hour
		own := e.mint(e.agent, long)
		if own.Token.ExpiresAt != holder.Token.ExpiresAt {
			t.Errorf("it expires at %d, its holder at %d", own.Token.ExpiresAt, holder.Token.ExpiresAt)
		}
		if d := e.find(e.acme, shown(own)); d.Status != plan.Active {
			t.Fatalf("status = %s", d.Status)
		}
		if _, err := e.plans.SetStatus(t.Context(), e.agent, holder.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		if d := e.find(e.acme, shown(own)); d.Status != plan.Completed {
			t.Errorf("its holder has ended, and it is %s", d.Status)
		}
		// One that was let through lets no other through.
		_, err := e.plans.Mint(t.Context(), e.agent, request(selfPlanned))
		testenv.WantFault(t, "mint", err, fault.Forbidden)
	})
}

func TestDigester(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		digests := make([][sha256.Size]byte, 8)
		var wg sync.WaitGroup
		for i := range digests {
			service := newService(t, e.DB, 1) // a replica of its own
			wg.Go(func() {
				d, err := service.Digester(context.Background(), e.acme)
				if err != nil {
					t.Errorf("digester: %v", err)
				}
				digests[i] = d.Arguments(`{"a":1}`)
			})
		}
		wg.Wait()
		for _, d := range digests {
			if d != digests[0] {
				t.Fatal("replicas make different digests")
			}
		}
		other, err := e.plans.Digester(t.Context(), e.globex)
		if err != nil {
			t.Fatal(err)
		}
		if d := other.Arguments(`{"a":1}`); d == digests[0] || d == sha256.Sum256([]byte(`{"a":1}`)) ||
			d == other.Arguments(`{"a":2}`) {
			t.Error("organizations share digests, or digests can be guessed")
		}
		if _, err := newService(t, e.DB, 2).Digester(t.Context(), e.acme); !errors.Is(err, secret.ErrSealBroken) {
			t.Errorf("another master key: %v", err)
		}
		if _, err := e.plans.Digester(t.Context(), "no such organization"); err == nil {
			t.Error("a digest key for no organization")
		}
	})
}
