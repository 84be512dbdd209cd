// Package scan reads what MCP servers say of themselves, and finds what could turn a model against its user:
// instructions, hidden text, requests for secrets, parameters that carry data out, tools that are not what
// they say, and sets of servers that together let private data leave.
//
// The package is pure: it starts no server, calls no network, asks no model, and the same definition always gives the
// same report. The work grows with the size of the definition and no faster, and a report is bounded. A finding is no
// proof: plain words that mislead a model look like plain words that help it.
package scan

import (
	"cmp"
	"slices"

	"writ/internal/mcp/definition"
)

// Limits of a report.
const (
	MaxFindings = 1000 // the most severe stay
	maxPerRule  = 20   // of one rule about one tool
)

// Finding is one thing that a person should look at.
type Finding struct {
	ID       string   `json:"id" doc:"The rule, as docs/mcp-scanner.md lists it."`
	Severity Severity `json:"severity" doc:"info, low, medium, high or critical."`
	Server   string   `json:"server,omitzero" doc:"The server whose definition this is about."`
	Place    string   `json:"place" doc:"Where in the definition, as a path."`
	Title    string   `json:"title" doc:"What was found."`
	Evidence string   `json:"evidence,omitzero" doc:"The text, cut, with hidden characters written as escapes."`
	Advice   string   `json:"advice" doc:"What to do."`
	OWASP    []string `json:"owasp" doc:"Ids of OWASP's lists for MCP and for language models."`
	SAFEMCP  []string `json:"safeMcp" doc:"Ids of SAFE-MCP's techniques."`
	// Fingerprint stays the same until the text at the place changes.
	Fingerprint string `json:"fingerprint" doc:"Names this finding until its text changes; an acceptance is about it."`
}

// Report is what was found.
type Report struct {
	Findings []Finding `json:"findings"`
	Dropped  int       `json:"dropped,omitzero" doc:"Findings beyond the limit."`
}

// Worst is the highest severity of a report; empty: nothing was found.
func (r Report) Worst() (worst Severity) {
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Server scans one server.
func Server(s *definition.Server) Report {
	c := &collector{}
	scanServer(c, s)
	return c.report()
}

// Set scans servers that the same agents use, each for itself and all together.
func Set(servers []*definition.Server) Report {
	c := &collector{}
	for _, s := range servers {
		scanServer(c, s)
	}
	scanSet(c, servers)
	return c.report()
}

// Settings is a server in the configuration of a client, and what that says of it.
type Settings struct {
	Server  *definition.Server
	Trusted bool     // the client runs its tools without asking
	Secrets []string // names of settings that hold a secret
}

// Config scans the servers that a client uses, and how it uses them.
func Config(list []Settings) Report {
	c := &collector{}
	servers := make([]*definition.Server, len(list))
	for i, settings := range list {
		servers[i] = settings.Server
		scanServer(c, settings.Server)
		scanSettings(c, settings)
	}
	scanSet(c, servers)
	return c.report()
}

// collector gathers findings within the limits.
type collector struct {
	found   []Finding
	seen    map[string]int // by fingerprint: its number
	counts  map[string]int // by rule and tool
	dropped int
	work    int // steps of the inner loops, which tests compare with the size
}

func (c *collector) add(f Finding, owner string) {
	key := f.ID + "\x00" + f.Server + "\x00" + owner
	if c.seen == nil {
		c.seen, c.counts = map[string]int{}, map[string]int{}
	}
	if i, again := c.seen[f.Fingerprint]; again {
		if f.Severity > c.found[i].Severity {
			c.found[i] = f
		}
		return
	}
	if c.counts[key] >= maxPerRule || len(c.found) >= 2*MaxFindings {
		c.dropped++
		return
	}
	c.seen[f.Fingerprint] = len(c.found)
	c.counts[key]++
	c.found = append(c.found, f)
}

// report is what was found, the most severe first.
func (c *collector) report() Report {
	slices.SortStableFunc(c.found, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	r := Report{Findings: c.found, Dropped: c.dropped}
	if extra := len(r.Findings) - MaxFindings; extra > 0 {
		r.Findings, r.Dropped = r.Findings[:MaxFindings], r.Dropped+extra
	}
	if r.Dropped > 0 {
		r.Findings = append(r.Findings, newFinding(finding{rule: findingsDropped, fixed: "dropped"}, ""))
	}
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	return r
}
