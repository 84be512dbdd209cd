package app

import (
	"context"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/blog"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/forwarding"
	"writ/internal/guard"
	"writ/internal/intent"
	"writ/internal/intent/scope"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/mcp"
	"writ/internal/notification"
	"writ/internal/notification/webhook"
	"writ/internal/operator"
	"writ/internal/organization"
	"writ/internal/outbound"
	"writ/internal/policy"
	"writ/internal/projection"
	"writ/internal/referral"
	"writ/internal/replay"
	"writ/internal/throttle"
)

// openOutgoing makes what leaves the server: mail, calls to addresses that users chose, and questions to a model.
// Without a mail server, mail is refused at once: a queue would accept it and fail later.
func (a *Areas) openOutgoing(o Options) (err error) {
	if a.model, err = newModel(o.Config); err != nil {
		return err
	}
	sender, err := newSender(o.Config, o.Logger, o.Now)
	if err != nil {
		return err
	}
	a.outgoing = mail.NewQueue(sender, o.Logger)
	a.post, a.letters = a.outgoing, a.outgoing
	if none, ok := sender.(mail.None); ok {
		a.post, a.letters = none, nil
	}
	a.outbound = outbound.New(outbound.Options{Permits: o.Config.OutboundAllow})
	return nil
}

// openPeople opens the record, accounts, organizations, and what belongs to the installation.
func (a *Areas) openPeople(ctx context.Context, o Options, publicURL string) (err error) {
	db, log := a.Database, a.log
	a.Audit = audit.New(log, eraseCopies)
	a.Keyring = keyring.New(db, log, a.sealer)
	if _, err := a.Keyring.Current(ctx, keyring.AccessToken); err != nil {
		return err // here, and not at the first sign-in
	}
	a.Limiter = throttle.New(db)
	a.Keys = apikey.New(db, log, o.Logger, agent.CarryBindings)
	a.Auth = auth.New(db, log, a.Keyring, a.sealer, a.post, publicURL, apikey.Terminals{Service: a.Keys})
	if a.Billing, err = a.newBilling(o.Config, publicURL); err != nil {
		return err
	}
	a.Organizations = organization.New(db, log, a.post, publicURL, a.Billing.SeatLimit)
	a.Operators = operator.New(db, log)
	a.Requests = a.newRequests(a.post, o.Logger, publicURL)
	a.Blog = blog.New(db, log, operator.Require)
	a.Referrals = referral.New(db, log, o.Config.ReferralCents,
		referral.Sources{Role: organization.RoleIn, Owners: organization.OwnersOf})
	return nil
}

// openAgents opens what agents have and declare: keys, plans, reports, approvals, certificates, the registry.
func (a *Areas) openAgents(o Options, publicURL string) {
	db, log := a.Database, a.log
	a.Scopes = scope.New(db, a.sealer)
	a.Intent = intent.New(db, log, a.Keyring, a.sealer, a.Scopes, intent.Agents{
		Ended: agent.PlanEnded,
		Saw: func(ctx context.Context, tx *database.Tx, orgID, agentID, keyID string) error {
			return a.Agents.Saw(ctx, tx, agent.Sighting{OrgID: orgID, AgentID: agentID, KeyID: keyID}, "")
		},
	})
	a.Executions = execution.New(db, log, a.Intent, a.Keys, a.Scopes,
		func(ctx context.Context, orgID string, planned bool) (scope.Heard, error) {
			return a.Enforcement.Heard(ctx, orgID, planned)
		}, leases{a}, called{a})
	a.Approvals = approval.New(db, log, approval.Sources{
		Approvers:  organization.CountApprovers,
		Role:       organization.RoleOf,
		Address:    organization.Address,
		Digest:     a.Intent.Digest,
		Ended:      agent.EndedBefore,
		KeyEnded:   apikey.Ended,
		Class:      enforcement.StatedClass,
		Delegators: intent.OwnersOf,
		Answered:   a.countAnswer,
	})
	a.Certificates = a.newCertificates(publicURL)
	a.Agents = agent.New(db, log, agent.Sources{
		Certified:    a.certified,
		Role:         organization.RoleOf,
		MissingKey:   apikey.Missing,
		MadeFrom:     apikey.MadeFrom,
		FindingKinds: execution.KindNames(),
		Findings:     a.findings,
		Spent:        a.spentByAgent,
		Plans:        livePlansOf(db),
		PlansEnd:     plansEnd(db),
		HasPlan:      intent.Has,
		IsDelegate:   intent.IsDelegate,
		Lists:        mcp.Lists,
		LeaseKey:     a.Intent.LeaseKey,
		Tripped:      a.notifyTripped,
		Suspended:    a.notifySuspended,
		Killed:       a.notifyKilled,
	})
}

// openNotifications opens what tells people and other systems of events.
func (a *Areas) openNotifications(publicURL string) {
	a.Webhooks = webhook.NewService(a.Database, a.log, a.sealer, a.outbound, publicURL)
	a.Notifications = notification.New(notification.Options{
		Database:  a.Database,
		Webhooks:  a.Webhooks,
		Mail:      a.letters,
		PublicURL: publicURL,
		Sources:   notification.Sources{Events: a.approvalEvents, People: a.people},
	})
}

// openDecisions opens policies and MCP servers, what decides by them, and what carries out or shows what was decided.
func (a *Areas) openDecisions(o Options, publicURL string) {
	db, log := a.Database, a.log
	a.Policies = policy.New(db, log, spending{a.Telemetry}, policy.ProposalNotifier{
		Proposed: a.notifyProposal, Settled: a.Notifications.SettleProposal,
	})
	a.Servers = a.newServers(o.Config)
	a.Connections = a.newConnections(publicURL)
	a.OAuth = a.newOAuth(publicURL)
	a.Enforcement = enforcement.New(enforcement.Options{
		Database:  db,
		Log:       log,
		Policies:  a.Policies,
		Plans:     a.Intent,
		Scopes:    a.Scopes,
		Approvals: a.Approvals,
		People:    a.Organizations,
		Keys:      a.Keys,
		Agents:    a.Agents,
		Servers:   a.Servers,
		Logger:    o.Logger,
	})
	a.Carrier = a.newCarrier(o)
	a.messages = &route.Bodies{Limit: messageBytes}
	a.Gateway = a.newGateway(o)
	a.Guard = guard.New(db, log)
	a.Replays = replay.New(db, a.Policies, replay.Sources{People: a.Organizations, Keys: a.Keys, Plans: a.Intent})
	a.Drafts = newAuthor(o.Config.Draft, a.model, a.Limiter)
	a.projector = projection.New(db, a.Telemetry, a.recent)
	a.Forwarding = forwarding.New(forwarding.Options{
		Database:  db,
		Log:       log,
		Telemetry: a.Telemetry,
		Sealer:    a.sealer,
		Poster:    a.outbound,
		Version:   o.Version,
	})
}

// openSignIn opens what needs accounts, organizations and keys together: identity providers and whole accounts.
func (a *Areas) openSignIn(c config.Config, publicURL string) {
	a.Federation = federation.New(federation.Options{
		Database:  a.Database,
		Log:       a.log,
		Sealer:    a.sealer,
		Auth:      a.Auth,
		Web:       a.outbound,
		PublicURL: publicURL,
		Members:   federation.Members{Role: organization.RoleIn, Join: a.Organizations.JoinVouched},
		Keys:      a.Keys,
		Google:    federation.Google{Issuer: c.GoogleIssuer, ClientID: c.GoogleClientID, Secret: c.GoogleClientSecret},
		OpenToAll: c.SignUp == config.SignUpOpen,
	})
	a.Accounts = a.newAccounts(publicURL)
}
