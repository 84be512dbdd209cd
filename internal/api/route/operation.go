package route

import (
	"net/http"
	"slices"
	"strings"
)

// operationNames are the ids of operations that their paths do not make well, because published clients chose the
// paths.
var operationNames = map[string]string{
	"GET /.well-known/jwks.json":                                  "getSigningKeys",
	"GET /.well-known/oauth-protected-resource/proxy/mcp":         "getProxyResource",
	"GET /.well-known/oauth-protected-resource/proxy/mcp/{mcpId}": "getProxyServerResource",
	"POST /auth/change-password":                                  "changePassword",
	"POST /auth/forgot-password":                                  "forgotPassword",
	"POST /auth/login":                                            "login",
	"POST /auth/logout":                                           "logout",
	"POST /auth/refresh":                                          "refreshTokens",
	"POST /auth/register":                                         "registerAccount",
	"POST /auth/resend-otp":                                       "resendCode",
	"POST /auth/reset-password":                                   "resetPassword",
	"POST /auth/sign-in-code":                                     "exchangeSignInCode",
	"POST /auth/verify-otp":                                       "verifyAccount",
	"GET /auth/me":                                                "getMe",
	"GET /auth/oidc":                                              "findIdentityProvider",
	"GET /auth/oidc/{organization}":                               "startOidcSignIn",
	"GET /auth/oidc/{organization}/callback":                      "finishOidcSignIn",
	"GET /auth/google":                                            "startGoogleSignIn",
	"GET /auth/google/callback":                                   "finishGoogleSignIn",
	"GET /agent/agents":                                           "listAgents",
	"GET /agent/agents/{agentId}":                                 "getAgent",
	"PATCH /agent/agents/{agentId}":                               "updateAgent",
	"POST /agent/agents/{agentId}/status":                         "setAgentStatus",
	"GET /iap/agent/{agentId}/status":                             "isAgentStopped",
	"GET /blog":                                                   "listBlogPosts",
	"GET /blog/{slug}":                                            "getBlogPost",
	"GET /blog/feed.xml":                                          "getBlogFeed",
	"GET /certificate":                                            "listCertificates",
	"GET /delegation/check-approved":                              "checkApproved",
	"POST /delegation/mark-executed":                              "markExecuted",
	"GET /delegation/poll":                                        "pollApproval",
	"POST /delegation/request":                                    "requestApproval",
	"POST /delegation/approve":                                    "approveRequest",
	"POST /delegation/reject":                                     "rejectRequest",
	"POST /delegation/cancel":                                     "cancelRequest",
	"POST /delegation/preview":                                    "previewApproval",
	"GET /delegation/requests":                                    "listApprovals",
	"GET /delegation/requests/{id}":                               "getApproval",
	"POST /iap/audit":                                             "reportExecution",
	"POST /iap/audit/batch":                                       "reportExecutions",
	"POST /iap/sdk/token":                                         "declarePlan",
	"POST /iap/sdk/preflight":                                     "preflight",
	"POST /iap/sdk/bootstrap":                                     "bootstrapSdk",
	"POST /intent":                                                "bindPolicy",
	"POST /verify/action":                                         "verifyAction",
	"POST /policies/check-access":                                 "checkAccess",
	"POST /policies/draft":                                        "draftPolicy",
	"POST /policies/simulate":                                     "simulatePolicy",
	"POST /policies/suggest":                                      "suggestPolicy",
	"POST /policies/test":                                         "testPolicy",
	"POST /policies/validate":                                     "validatePolicy",
	"POST /policies/yaml/import":                                  "importPolicy",
	"GET /policies/yaml/export/{policyId}":                        "exportPolicy",
	"GET /policies/profiles/template":                             "listProfileTemplates",
	"GET /policies/profiles/template/{name}":                      "getProfileTemplate",
	"GET /notification":                                           "listNotificationsAlias",
	"POST /notification/{id}/read":                                "readNotificationAlias",
	"GET /organization":                                           "listOrganizations",
	"POST /organization/invites/accept":                           "acceptInvite",
	"POST /organization/invites/look":                             "lookAtInvite",
	"POST /organization/{orgId}/members/invite":                   "inviteMember",
	"POST /organization/{orgId}/kill-switch":                      "useKillSwitch",
	"POST /connections/finish":                                    "finishConnection",
	"POST /observability/spans":                                   "reportSpans",
	"POST /v1/traces":                                             "exportTraces",
	"POST /dashboard/token-usage":                                 "reportTokenUsage",
	"POST /proxy/mcp":                                             "callProxy",
	"GET /proxy/mcp":                                              "listenToProxy",
	"DELETE /proxy/mcp":                                           "endProxySession",
	"POST /proxy/mcp/{mcpId}":                                     "callProxyServer",
	"GET /proxy/mcp/{mcpId}":                                      "listenToProxyServer",
	"DELETE /proxy/mcp/{mcpId}":                                   "endProxyServerSession",
}

// verbs are words that end the path of a POST and say what it does.
var verbs = strings.Fields(`accept activate approve auto cancel check claim confirm deactivate delegate deny draft end
	enforce erase finish import invite invoke issue kill open preview propose provision publish read reanchor refresh
	register reject replay reset resolve revive revoke rollback rotate scan simulate suggest switch test validate verify
	withdraw`)

// leading are the first parts of paths that say nothing of what a route is about.
var leading = []string{"organization", "iap", "v1", ".well-known"}

// operationID is the id of the route in the document, in words: listMembers for GET /organization/{orgId}/members,
// activatePolicy for POST /policies/{policyId}/activate.
func (r Route) operationID() string {
	if name := operationNames[r.Method+" "+r.Path]; name != "" {
		return name
	}
	parts, one := r.nouns()
	last := parts[len(parts)-1]
	if r.Method == http.MethodPost && !one && slices.Contains(verbs, last[0]) {
		return last[0] + joined(last[1:]) + joined(slices.Concat(parts[:len(parts)-1]...))
	}
	verb := r.verb(last[len(last)-1], one)
	if verb == "create" {
		last[len(last)-1] = singular(last[len(last)-1])
	}
	return verb + joined(slices.Concat(parts...))
}

// nouns are the words of each part of the path; one: it is about one thing, which the end of the path names.
func (r Route) nouns() (parts [][]string, one bool) {
	segments := strings.Split(strings.Trim(r.Path, "/"), "/")
	one = strings.HasPrefix(segments[len(segments)-1], "{")
	alone := strings.HasSuffix(r.Path, orgSegment)
	segments = slices.DeleteFunc(segments, func(s string) bool { return s == orgSegment })
	for len(segments) > 1 && slices.Contains(leading, segments[0]) && !strings.HasPrefix(segments[1], "{") {
		segments = segments[1:]
	}
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			continue
		}
		words := strings.FieldsFunc(segment, func(c rune) bool { return c == '-' || c == '.' || c == '_' })
		if alone || i+1 < len(segments) && strings.HasPrefix(segments[i+1], "{") {
			words[len(words)-1] = singular(words[len(words)-1])
		}
		parts = append(parts, words)
	}
	return parts, one
}

// uncounted end in s and are one thing all the same.
var uncounted = []string{"settings", "status", "options", "figures", "stats", "preferences", "series"}

// verb is what a route does with the thing at the end of its path.
func (r Route) verb(last string, one bool) string {
	switch {
	case one:
		return map[string]string{
			http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "replace", http.MethodPatch: "update",
			http.MethodDelete: "delete",
		}[r.Method]
	case r.Method == http.MethodGet && strings.HasSuffix(last, "s") && !slices.Contains(uncounted, last):
		return "list"
	case r.Method == http.MethodPost && (last == "status" || last == "secret" || last == "shadow"):
		return "set"
	}
	return map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "set", http.MethodPatch: "update",
		http.MethodDelete: "remove",
	}[r.Method]
}

func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "ss"), word == "status":
		return word
	}
	return strings.TrimSuffix(word, "s")
}

func joined(words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// description says in the document who may call the route, and what comes of it. It is made of the declaration, so
// that it cannot say anything else.
func (r Route) description() string {
	sentences := []string{r.Summary + ".", r.callers()}
	if r.ForStopped {
		sentences = append(sentences, "A key that the kill switch has stopped is answered too.")
	}
	switch {
	case r.Audit == notRecorded:
		sentences = append(sentences, "It gives and takes no right, and so is not in the audit log.")
	case r.Audit != "":
		sentences = append(sentences, "It is in the audit log as `"+r.Audit+"`.")
	default:
		sentences = append(sentences, "It changes nothing.")
	}
	if !r.Throttle.IsZero() || !r.OpenThrottle.IsZero() {
		sentences = append(sentences, "It is throttled: "+r.Limits()+".")
	}
	if r.ClosedBody {
		sentences = append(sentences, "Members of the body that are not documented are refused.")
	}
	if len(r.respells) > 0 {
		sentences = append(sentences, "It takes every other name of the same thing too, if all that are sent agree: "+
			"docs/concepts.md lists them.")
	}
	return strings.Join(sentences, " ")
}

func (r Route) callers() string {
	who := map[Mode]string{
		Public: "Anyone may call it", Person: "For a person who has signed in", Key: "For an API key",
		PersonOrKey: "For a person who has signed in, or an API key", Proxy: "For the enforcement proxy",
		Session:   "For a person who has signed in, or a page of this server with its cookie",
		PlanToken: "For an API key, or whoever has the token of the plan",
		Agent:     "For an API key, or the access token of an OAuth client",
	}[r.Mode]
	var needs []string
	if r.Action != "" {
		needs = append(needs, "the role of a person must allow `"+string(r.Action)+"`")
	}
	if r.Scope != "" && r.Scope != AnyScope {
		needs = append(needs, "a key must have the scope `"+string(r.Scope)+"`")
	}
	if r.Operators {
		needs = append(needs, "the person must be an operator of this installation")
	}
	if len(needs) == 0 {
		return who + "."
	}
	return who + ": " + strings.Join(needs, ", and ") + "."
}
