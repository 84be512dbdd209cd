package cli_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit/ledger"
	"writ/internal/database/dbtest"
)

const (
	killCallers = 32
	// killsVariable is how many kills the proof makes; few unless it is set.
	killsVariable = "KILLS"
	fewKills      = 5
	killedAgent   = "billing"
	// Within what, on a quiet machine, no allow is recorded any more. It is printed and not tested.
	medianTarget  = 20 * time.Millisecond
	longestTarget = 100 * time.Millisecond

	allowAllText = "version: v1\nname: all\nrules: [{id: all, effect: allow, tools: [\"*\"]}]\n"
)

// TestNoAllowBehindAKillOfProcesses: two processes on PostgreSQL, or one on SQLite, decide for 32 callers while a
// person kills and revives their agent. No receipt of an allow is of an entry between a kill and its revival. How long
// kills took is printed and not tested: it says how busy the machine is. make kills makes 50 of them, on one database
// after the other.
func TestNoAllowBehindAKillOfProcesses(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		settings := []string{
			"DATABASE_URL=" + dbtest.EmptyPostgres(t).PostgresURL, "WRIT_MASTER_KEY=" + strings.Repeat("5a", 32),
		}
		first := t.TempDir()
		proveKills(t, first, serveFirstTime(t, first, settings...), serveFirstTime(t, t.TempDir(), settings...))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		proveKills(t, folder, serveFirstTime(t, folder))
	})
}

// killProof is a run of kills, and what callers were answered.
type killProof struct {
	t       *testing.T
	org     string
	people  []*client.Client // of each process
	begun   time.Time
	answers atomic.Int64
	allows  atomic.Int64

	mu      sync.Mutex
	allowed map[int64]time.Time // when the answer with this entry came
}

// span is a kill: no entry between its indices allows.
type span struct {
	from, until     int64
	asked, answered time.Time
}

func proveKills(t *testing.T, folder string, urls ...string) {
	t.Helper()
	p, keys := newKillProof(t, folder, urls)
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	p.begun = time.Now()
	for i := range killCallers {
		callers.Go(func() { p.call(ctx, keys[i%len(keys)]) })
	}
	var spans []span
	for i := range kills(t) {
		spans = append(spans, p.kill(i))
	}
	stop()
	callers.Wait()
	rate := float64(p.answers.Load()) / time.Since(p.begun).Seconds()
	p.check(spans)
	p.verify()
	p.report(spans, rate)
}

func kills(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(killsVariable), strconv.Itoa(fewKills)))
	if err != nil || n < 1 {
		t.Fatalf("%s must be a number of kills: %v", killsVariable, err)
	}
	return n
}

// newKillProof signs in at every process, and gives a client with a key of the agent for each.
func newKillProof(t *testing.T, folder string, urls []string) (*killProof, []*client.Client) {
	t.Helper()
	var first struct{ Email, Password, OrganizationID, APIKey string }
	text, err := os.ReadFile(filepath.Join(folder, "data", "first-run.json"))
	if err == nil {
		err = json.Unmarshal(text, &first)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &killProof{t: t, org: first.OrganizationID, allowed: map[int64]time.Time{}}
	var keys []*client.Client
	for _, url := range urls {
		c := &client.Client{BaseURL: url}
		signedIn, err := c.Login(t.Context(), first.Email, first.Password)
		if err != nil {
			t.Fatal(err)
		}
		p.people = append(p.people, c.As(signedIn.AccessToken))
		keys = append(keys, c.WithKey(first.APIKey))
	}
	made, err := p.people[0].CreatePolicy(t.Context(), p.org, client.YAMLDocument, allowAllText)
	if err == nil {
		_, err = p.people[0].ActivatePolicy(t.Context(), made.ID, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, keys
}

// call asks for decisions until the run ends, and keeps the receipts of allows.
func (p *killProof) call(ctx context.Context, key *client.Client) {
	for ctx.Err() == nil {
		d, err := key.EnforceHarness(ctx, client.HarnessCall{ToolName: "read", AgentID: killedAgent})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.t.Errorf("a caller: %v", err)
			return
		}
		if d.Allowed {
			var receipt ledger.Receipt
			if err := json.Unmarshal(d.Receipt, &receipt); err != nil {
				p.t.Errorf("an allow without a receipt: %v", err)
				return
			}
			p.mu.Lock()
			p.allowed[receipt.Index] = time.Now()
			p.mu.Unlock()
			p.allows.Add(1)
		}
		p.answers.Add(1)
	}
}

// kill kills the agent while calls run, and revives it once every caller has been answered again.
func (p *killProof) kill(i int) span {
	p.t.Helper()
	ctx, by := p.t.Context(), p.people[i%len(p.people)]
	p.await(&p.allows, killCallers)
	s := span{asked: time.Now()}
	stop, err := by.KillAgent(ctx, p.org, killedAgent, "a proof")
	s.answered = time.Now()
	if err != nil {
		p.t.Fatalf("kill %d: %v", i, err)
	}
	p.await(&p.answers, 3*killCallers)
	s.from = stop.Index
	if s.until, err = by.ReviveAgent(ctx, p.org, killedAgent, "the proof goes on"); err != nil {
		p.t.Fatalf("revive %d: %v", i, err)
	}
	return s
}

// await waits until a counter is some higher than now.
func (p *killProof) await(counter *atomic.Int64, more int64) {
	p.t.Helper()
	target := counter.Load() + more
	for deadline := time.Now().Add(5 * time.Minute); counter.Load() < target; time.Sleep(time.Millisecond) {
		if p.t.Failed() || time.Now().After(deadline) {
			p.t.Fatalf("callers got no answers: %d of %d", counter.Load(), target)
		}
	}
}

// check compares every receipt with every kill.
func (p *killProof) check(spans []span) {
	p.t.Helper()
	for index := range p.allowed {
		for _, s := range spans {
			if index > s.from && index < s.until {
				p.t.Errorf("entry %d allows, behind the kill %d and before its revival %d", index, s.from, s.until)
			}
		}
	}
	if len(p.allowed) < killCallers*len(spans) {
		p.t.Errorf("only %d calls were allowed", len(p.allowed))
	}
}

// verify has the export checked as writ audit verify does, which follows kills too.
func (p *killProof) verify() {
	p.t.Helper()
	export, err := p.people[0].ExportLog(p.t.Context(), p.org, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer export.Close()
	report, err := ledger.Verify(export, ledger.Trust{})
	if err != nil {
		p.t.Errorf("the log does not verify: %v", err)
	}
	p.t.Logf("%d entries verify, %d of them allows with a receipt", report.Size, len(p.allowed))
}

// report prints how long after the request for a kill the last allow was recorded, and apart from that the answers
// about earlier entries that came after the kill's.
func (p *killProof) report(spans []span, rate float64) {
	p.t.Helper()
	var took []time.Duration
	late, latest := 0, time.Duration(0)
	for _, s := range spans {
		last := int64(-1)
		for index, at := range p.allowed {
			if index < s.from {
				last = max(last, index)
				if after := at.Sub(s.answered); after > 0 {
					late, latest = late+1, max(latest, after)
				}
			}
		}
		entry, err := p.people[0].LogEntry(p.t.Context(), p.org, last)
		if err != nil {
			p.t.Fatal(err)
		}
		took = append(took, max(0, entry.Time.Sub(s.asked)))
	}
	slices.Sort(took)
	middle, longest := took[len(took)/2], took[len(took)-1]
	p.t.Logf("%s: %d kills, %d callers, %d processes, %.0f decisions a second\n"+
		"from the kill's request to the last allow entry: median %s (target %s: %s), longest %s (target %s: %s)\n"+
		"late deliveries of entries from before the kill: %d, the latest %s after the kill's answer",
		path.Base(p.t.Name()), len(spans), killCallers, len(p.people), rate, middle, medianTarget,
		met(middle <= medianTarget), longest,
		longestTarget, met(longest <= longestTarget), late, latest)
}

func met(is bool) string {
	if is {
		return "met"
	}
	return "missed"
}
