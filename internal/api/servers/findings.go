package servers

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/mcp"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountFindings(r *route.Router) {
	route.Handle(r, manager(route.Post("/mcp/servers/{mcpId}/scan",
		"Scan what a server lists, also together with the other approved servers; it is asked, and never started")).
		Throttled(throttle.AskServer).Records("mcp.scanned"), h.scan)
	route.Handle(r, route.Get("/mcp/servers/{mcpId}/vulnerabilities",
		"What scans found about a server, and which of its tools are held: open and accepted").
		For(route.Person).Needs(principal.ReadOrganization), h.vulnerabilities)
	route.Handle(r, manager(route.Post("/mcp/servers/{mcpId}/vulnerabilities/{fingerprint}/accept",
		"Accept a finding with a reason: it is quiet until its text changes")).
		Records("mcp.finding_accepted").Configures(), h.acceptFinding)
}

// MCPFindingBody is something that a person should look at.
type MCPFindingBody struct {
	ID          string     `json:"id" doc:"The rule, as the page of the scanner lists it; pin: a tool is held."`
	Severity    string     `json:"severity" enum:"info,low,medium,high,critical"`
	Status      string     `json:"status" enum:"open,accepted,gone" doc:"gone: a person accepted it, and the server does not say it any more."`
	Place       string     `json:"place" doc:"Where in what the server lists."`
	Title       string     `json:"title"`
	Evidence    string     `json:"evidence" doc:"The text, cut, with hidden characters written as escapes."`
	Advice      string     `json:"advice"`
	OWASP       []string   `json:"owasp" nullable:"false"`
	SAFEMCP     []string   `json:"safeMcp" nullable:"false"`
	Fingerprint string     `json:"fingerprint" doc:"Names the finding until its text changes."`
	FirstSeenAt time.Time  `json:"firstSeenAt"`
	LastSeenAt  time.Time  `json:"lastSeenAt"`
	AcceptedBy  *string    `json:"acceptedBy"`
	AcceptedAt  *time.Time `json:"acceptedAt"`
	AcceptedFor string     `json:"acceptedFor" doc:"Why."`
}

// MCPFindingsBody is what was found about a server.
type MCPFindingsBody struct {
	Verdict string           `json:"verdict" enum:"clean,findings" doc:"findings: some of medium severity or more are open."`
	Open    int              `json:"open"`
	Items   []MCPFindingBody `json:"items" nullable:"false" doc:"The most severe first."`
}

func findingBody(f mcp.Finding) MCPFindingBody {
	body := MCPFindingBody{
		ID:          f.ID,
		Severity:    f.Severity.String(),
		Status:      "open",
		Place:       f.Place,
		Title:       f.Title,
		Evidence:    f.Evidence,
		Advice:      f.Advice,
		OWASP:       append([]string{}, f.OWASP...),
		SAFEMCP:     append([]string{}, f.SAFEMCP...),
		Fingerprint: f.Fingerprint,
		FirstSeenAt: f.FirstSeenAt,
		LastSeenAt:  f.LastSeenAt,
		AcceptedBy:  route.OrNull(f.AcceptedBy),
		AcceptedAt:  f.AcceptedAt,
		AcceptedFor: f.AcceptedFor,
	}
	switch {
	case !f.Present:
		body.Status = "gone"
	case f.AcceptedBy != "":
		body.Status = "accepted"
	}
	return body
}

func findingsBody(found []mcp.Finding) MCPFindingsBody {
	body := MCPFindingsBody{Verdict: "clean", Items: route.ItemsOf(found, findingBody).Items}
	for _, f := range found {
		if !f.IsOpen() {
			continue
		}
		body.Open++
		if f.IsSerious() {
			body.Verdict = "findings"
		}
	}
	return body
}

func (h *Handlers) scan(ctx context.Context, caller principal.Principal, in *ServerInput) (MCPFindingsBody, error) {
	_, found, err := h.Servers.Scan(ctx, caller, in.MCPID)
	return findingsBody(found), err
}

type vulnerabilitiesInput struct {
	ServerInput
	Status string `query:"status" enum:"open,accepted,gone" doc:"Only findings of this status."`
}

func (h *Handlers) vulnerabilities(
	ctx context.Context, caller principal.Principal, in *vulnerabilitiesInput,
) (MCPFindingsBody, error) {
	_, found, err := h.Servers.Findings(ctx, caller, in.MCPID)
	body := findingsBody(found)
	if in.Status == "" {
		return body, err
	}
	kept := []MCPFindingBody{}
	for _, f := range body.Items {
		if f.Status == in.Status {
			kept = append(kept, f)
		}
	}
	body.Items = kept
	return body, err
}

type acceptFindingInput struct {
	ServerInput
	Fingerprint string `path:"fingerprint"`
	Body        struct {
		Reason string `json:"reason" minLength:"1" maxLength:"500"`
	}
}

func (h *Handlers) acceptFinding(
	ctx context.Context, caller principal.Principal, in *acceptFindingInput,
) (MCPFindingBody, error) {
	f, err := h.Servers.AcceptFinding(ctx, caller, in.MCPID, in.Fingerprint, in.Body.Reason)
	return findingBody(f), err
}
