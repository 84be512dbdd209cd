package remote

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"writ/internal/carrier"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/guard/message"
	"writ/internal/mcp"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// Decide has a call decided. Whatever fails is a deny.
func (s *Server) Decide(ctx context.Context, by principal.Principal, r enforcement.Request) enforcement.Answer {
	var said message.ProxyAnswer
	err := s.askFor(ctx, by, question{
		method: http.MethodPost, path: "/proxy/guard/decisions", body: message.CallOf(r),
	}, &said)
	if err != nil {
		return s.deny(ctx, r, err)
	}
	answer, err := said.Read()
	if err != nil {
		return s.deny(ctx, r, away(err))
	}
	if r.Carried != nil && answer.Allowed() {
		s.mu.Lock()
		s.reports[answer.DecisionID] = said.ReportToken
		s.mu.Unlock()
	}
	return answer
}

// deny is the answer where the server gives none.
func (s *Server) deny(ctx context.Context, r enforcement.Request, err error) enforcement.Answer {
	s.Logger.WarnContext(ctx, "a call was denied, because the Writ server did not decide about it", "error", err)
	reason := "the call could not be decided about, so it is denied: try again"
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Internal {
		reason = f.Message
	}
	return enforcement.Answer{
		Ruling: verdict.Ruling{PolicyID: policy.ByDefault, Rule: "undecided", Reason: reason},
		Step:   -1,
		Server: r.Server,
	}
}

// ReportCarried reports what came of a call. An Invalid fault says that it can never be recorded.
func (s *Server) ReportCarried(
	ctx context.Context, _ principal.Principal, c execution.Carried,
) (execution.Reported, error) {
	s.mu.Lock()
	token := s.reports[c.DecisionID]
	s.mu.Unlock()
	var said message.ProxyReported
	err := s.ask(ctx, question{
		method: http.MethodPost,
		path:   "/proxy/guard/decisions/" + url.PathEscape(c.DecisionID) + "/outcome",
		header: http.Header{message.ReportHeader: {token}},
		body:   message.OutcomeOf(c),
	}, &said)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Conflict, fault.Forbidden, fault.TooLarge:
		err = fault.Wrap(err, fault.Invalid, "the Writ server does not take what came of the call")
	}
	if err == nil || fault.Is(err, fault.Invalid) {
		s.mu.Lock()
		delete(s.reports, c.DecisionID)
		s.mu.Unlock()
	}
	return execution.Reported{ID: said.ID, Duplicate: said.Duplicate}, err
}

// Forget drops what is kept for the report about a decision, which is never made.
func (s *Server) Forget(decisionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reports, decisionID)
}

// ReachOf finds how a tool of a server is reached.
func (s *Server) ReachOf(ctx context.Context, by principal.Principal, server, tool string) (mcp.Reach, error) {
	var said message.ProxyRoute
	err := s.askFor(ctx, by, question{
		method: http.MethodGet, path: "/proxy/guard/route", query: url.Values{"server": {server}, "tool": {tool}},
	}, &said)
	if err != nil {
		return mcp.Reach{}, err
	}
	return said.Read(), nil
}

// Credentials are the headers by which a server knows its caller. They are given once for each decision, and only for
// one that allows a call.
func (s *Server) Credentials(
	ctx context.Context, by principal.Principal, r mcp.Reach, decisionID string,
) (http.Header, error) {
	if !r.HasSecret && !r.ByConsent {
		return nil, nil
	}
	if decisionID == "" {
		return nil, carrier.ErrUndecided
	}
	var said message.ProxySecret
	err := s.askFor(ctx, by, question{
		method: http.MethodPost, path: "/proxy/guard/decisions/" + url.PathEscape(decisionID) + "/secret",
	}, &said)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for _, h := range said.Headers {
		header.Add(h.Name, h.Value)
	}
	return header, nil
}

// ProxySettings are what the manifest of a key says of the proxy.
func (s *Server) ProxySettings(
	ctx context.Context, by principal.Principal,
) (settings policy.ProxySettings, stated bool, err error) {
	said, err := s.standing(ctx, by, "")
	if err != nil {
		return policy.ProxySettings{}, false, err
	}
	settings, stated = said.Settings.Read()
	return settings, stated, nil
}

// RefuseStopped refuses a caller that the kill switch has stopped, or of which nobody knows.
func (s *Server) RefuseStopped(ctx context.Context, by principal.Principal) error {
	said, err := s.standing(ctx, by, "")
	if err == nil && said.Stopped {
		err = fault.New(fault.Forbidden, "a person has stopped this API key")
	}
	return err
}
