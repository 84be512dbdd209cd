// Package demo fills an organization with made-up data: a week of telemetry, and decisions of today. It drives the
// routes of a server as agents and people do, so that what it shows is what they would see.
//
// Decisions carry the server's clock and the audit log cannot be written backwards, so only telemetry is backdated.
// The shape is the same each time; ids are new.
package demo

import (
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"time"

	"writ/client"
)

//go:embed policies/*.yaml
var policies embed.FS

// scene is an organization while it is being filled.
type scene struct {
	org    string
	person *client.Client // an owner
	agent  *client.Client // with the key that most agents share
	reader *client.Client // with the key of the agent that is killed, which binds its keys
	email  string         // the person's
	clock  func() time.Time
	now    time.Time // when it began
	chance *rand.Rand
}

// Fill fills an organization of its own, whose owner calls, with data up to now by the clock.
func Fill(ctx context.Context, owner *client.Client, orgID string, clock func() time.Time) error {
	s := &scene{
		org:    orgID,
		person: owner,
		clock:  clock,
		now:    clock(),
		chance: rand.New(rand.NewPCG(20, 26)),
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"keys", s.makeKeys},
		{"agents", s.registerAgents},
		{"telemetry", s.sendWeek},
		{"policies", s.activatePolicies},
		{"decisions", s.work},
		{"plan", s.payAsPlanned},
		{"approvals", s.askPeople},
		{"attack", s.beAttacked},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("demo %s: %w", step.name, err)
		}
	}
	return nil
}

func (s *scene) makeKeys(ctx context.Context) error {
	me, err := s.person.Me(ctx)
	if err != nil {
		return err
	}
	s.email = me.User.Email
	for name, calls := range map[string]**client.Client{"demo agents": &s.agent, "invoice reader": &s.reader} {
		key, err := s.person.CreateKey(ctx, client.NewKey{Name: name, OrganizationID: s.org})
		if err != nil {
			return err
		}
		*calls = s.person.WithKey(key.APIKey)
	}
	return nil
}

// as calls with the key of the agent.
func (s *scene) as(agent string) *client.Client {
	if agent == invoices {
		return s.reader
	}
	return s.agent
}

// The agents of the demo.
const (
	billing  = "billing"
	support  = "support"
	coder    = "coder"
	research = "research"
	invoices = "invoice-reader"
)

func (s *scene) registerAgents(ctx context.Context) error {
	for _, a := range []client.NewAgent{
		{AgentID: billing, Name: "Billing", Product: "finance", Description: "Pays what is due."},
		{AgentID: support, Name: "Support", Product: "helpdesk", Description: "Answers tickets."},
		{AgentID: coder, Name: "Coder", Product: "claude-code", Description: "Fixes what tests find."},
		{AgentID: research, Name: "Research", Product: "notebooks", Description: "Reads the web at night."},
		{
			AgentID:     invoices,
			Name:        "Invoice reader",
			Product:     "finance",
			Description: "Reads invoices that come by mail.",
		},
	} {
		if _, err := s.person.RegisterAgent(ctx, s.org, a); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) activatePolicies(ctx context.Context) error {
	for _, name := range []string{"payments", "support", "engineering"} {
		text, err := policies.ReadFile("policies/" + name + ".yaml")
		if err != nil {
			return err
		}
		made, err := s.person.CreatePolicy(ctx, s.org, "application/yaml", string(text))
		if err != nil {
			return fmt.Errorf("policy %s: %w", name, err)
		}
		if _, err := s.person.ActivatePolicy(ctx, made.ID, 0); err != nil {
			return fmt.Errorf("policy %s: %w", name, err)
		}
	}
	return nil
}

// pick is one of several.
func pick[T any](s *scene, of ...T) T { return of[s.chance.IntN(len(of))] }
