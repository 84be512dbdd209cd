package writ

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func policyActivate(s cli.Streams) *cobra.Command {
	var v versioned
	activate := func(ctx context.Context, c *client.Client, id string) (client.PolicyState, error) {
		active, err := c.ActivatePolicy(ctx, id, v.version)
		return active.PolicyState, err
	}
	cmd := &cobra.Command{
		Use: "activate POLICY", Short: "Put a policy in force: calls are judged by it from now on",
		Long: `Put a policy in force; POLICY is an id or an exact name. Calls are judged by it from now on, in place of the version
that was active before. Owners and admins do this.`,
		Example: "  writ policy activate starter",
		Args:    cobra.ExactArgs(1),
		RunE:    onePolicy(&v.asPerson, s, activate, printPolicyState),
	}
	v.addFlags(cmd, "which version; the latest unless given")
	return byHand(cmd)
}

func policyDeactivate(s cli.Streams) *cobra.Command {
	var p asPerson
	deactivate := func(ctx context.Context, c *client.Client, id string) (client.PolicyState, error) {
		return c.DeactivatePolicy(ctx, id)
	}
	cmd := &cobra.Command{
		Use: "deactivate POLICY", Short: "Take a policy out of force; calls that no other policy allows are denied",
		Args: cobra.ExactArgs(1),
		RunE: onePolicy(&p, s, deactivate, printPolicyState),
	}
	p.addFlags(cmd)
	return byHand(cmd)
}

func policyRollback(s cli.Streams) *cobra.Command {
	var v versioned
	back := func(ctx context.Context, c *client.Client, id string) (client.PolicyState, error) {
		restored, err := c.RollbackPolicy(ctx, id, v.version)
		return restored.PolicyState, err
	}
	cmd := &cobra.Command{
		Use: "rollback POLICY", Short: "Make an old version of a policy the latest one, and active where one was active",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil || v.version != 0 {
				return err
			}
			return fmt.Errorf("--version is missing: writ policy show %s says which is the latest, and shows an older one "+
				"with --version", args[0])
		},
		RunE: onePolicy(&v.asPerson, s, back, printPolicyState),
	}
	v.addFlags(cmd, "the version to return to")
	cli.RequireFlags(cmd, "version")
	return byHand(cmd)
}

func printPolicyState(s cli.Streams, p client.PolicyState) error {
	words := "no version is active"
	if p.ActiveVersion != nil {
		words = fmt.Sprintf("version %d is active", *p.ActiveVersion)
	}
	_, err := fmt.Fprintf(s.Out, "policy %s: %s\n", cli.Line(p.Name), words)
	return err
}

// binding is what `writ policy bind` is asked.
type binding struct {
	asPerson
	to        client.Bindings
	members   []string // by id or e-mail
	everybody bool
	remove    bool
	only      bool // in place of the bindings that it has
	notes     []string
}

func policyBind(s cli.Streams) *cobra.Command {
	var b binding
	cmd := &cobra.Command{
		Use: "bind POLICY", Short: "Say whom a policy is for: members, clients, roles, or everybody",
		Long: `Say whom a policy is for. A policy without bindings is for everybody. Members are named by id or e-mail, roles as
owner, admin, approver, member or viewer, clients by the id of an API key (writ keys list) or by the agent id that
they send. What is named is added to the bindings; --remove takes it away, --only puts it in place of all others,
--everybody takes all away. An active policy for everybody is narrowed with --only alone, because others then do
without it.

Agents themselves say who they are. So a binding to an agent's name only restricts: what the policy allows runs only
if policies that apply to the key allow it too. It permits once a person has registered the agent and bound it to
its key (writ agents register AGENT --key KEY); or bind the policy to the key's id, its owner or the owner's role.`,
		Example: `  writ policy bind payments --only --client billing --member ada@example.org
  writ policy bind payments --client invoices
  writ policy bind payments --client 0197a3c2-5b1e-7c64-9d0f-3a2b1c4d5e6f
  writ policy bind payments --everybody`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return b.check() },
		RunE: onePolicy(&b.asPerson, s, b.run, func(s cli.Streams, now client.Bindings) error {
			_, err := fmt.Fprintf(s.Out, "for %s\n", cli.Line(bindingWords(now)))
			for _, note := range b.notes {
				fmt.Fprintln(s.Err, "writ: "+cli.Line(note))
			}
			return err
		}),
	}
	b.addFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&b.members, "member", nil, "a member, by id or e-mail; repeat it for several")
	f.StringSliceVar(&b.to.Clients, "client", nil, "an API key, by its id, or an agent, by the id that its client sends; repeat it for several")
	cli.ChoicesFlag(cmd, &b.to.Roles, "role", "a role: owner, admin, approver, member, viewer; repeat it for several",
		roleNames...)
	f.BoolVar(&b.remove, "remove", false, "take these bindings away")
	f.BoolVar(&b.everybody, "everybody", false, "take all bindings away: the policy is for everybody")
	f.BoolVar(&b.only, "only", false, "in place of the bindings that it has: the policy is for these alone")
	cmd.MarkFlagsMutuallyExclusive("everybody", "remove", "only")
	return byHand(cmd)
}

// roleNames are the roles of members.
var roleNames = []string{"owner", "admin", "approver", "member", "viewer"}

func (b *binding) check() error {
	named := len(b.members) + len(b.to.Clients) + len(b.to.Roles)
	if (named == 0) != b.everybody {
		return fmt.Errorf("give --member, --client or --role, or --everybody alone")
	}
	return nil
}

func (b *binding) run(ctx context.Context, c *client.Client, id string) (now client.Bindings, err error) {
	if b.everybody {
		return c.BindEverybody(ctx, id)
	}
	for _, named := range b.members {
		member, err := b.member(ctx, c, named)
		if err != nil {
			return now, err
		}
		b.to.Members = append(b.to.Members, member.UserID)
	}
	if !b.remove {
		if b.notes, err = b.keysMeant(ctx, c); err != nil {
			return now, err
		}
	}
	switch {
	case b.only:
		return c.SetBindings(ctx, id, b.to)
	case !b.remove:
		now, err = c.Bind(ctx, id, b.to)
		return now, inWords(err, "--only binds it to these alone")
	}
	if now, err = c.Bindings(ctx, id); err != nil {
		return now, err
	}
	for _, kind := range []struct {
		name      string
		gone, has []string
	}{
		{"members", b.to.Members, now.Members}, {"clients", b.to.Clients, now.Clients},
		{"roles", b.to.Roles, now.Roles},
	} {
		for _, subject := range kind.gone {
			if !slices.Contains(kind.has, subject) {
				return now, fmt.Errorf("the policy is not bound to %s %s", kind.name, subject)
			}
			if now, err = c.Unbind(ctx, id, kind.name, subject); err != nil {
				return now, inWords(err, "--everybody makes it so; writ policy deactivate takes it out of force")
			}
		}
	}
	return now, nil
}

// keysMeant are notes about clients who are named as an API key is: elsewhere names do where ids do, but here a name is
// that of an agent, and a policy that should hold for a key would hold for nobody. So would one for a misspelled agent,
// or for one that no key proves, which only restricts.
func (b *binding) keysMeant(ctx context.Context, c *client.Client) (notes []string, err error) {
	for _, name := range b.to.Clients {
		if uuidOf(name) != "" {
			continue
		}
		agent, err := c.Agent(ctx, b.orgID, name)
		switch {
		case err == nil && len(agent.Keys) > 0:
			continue // a person has bound keys to it
		case err != nil && client.StatusOf(err) != http.StatusNotFound:
			return nil, err
		}
		keys, err := inOrganization(ctx, c, &b.asPerson, func(orgID string) ([]string, error) {
			return keysCalled(ctx, c, orgID, name, func(client.Key) bool { return true })
		})
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			notes = append(notes, fmt.Sprintf("%s counts as an agent's name; the API key of that name is bound by its id: "+
				"--client %s", name, keys[0]))
			continue
		}
		notes = append(notes, fmt.Sprintf("no agent %s is registered with a key, so the policy only restricts it, and "+
			"allows it nothing: writ agents register AGENT --key KEY proves an agent by its key", name))
	}
	return notes, nil
}

// inWords says in flags of this program what a refused change of bindings says about requests.
func inWords(err error, hint string) error {
	answer, ok := errors.AsType[*client.Error](err)
	if !ok || !strings.Contains(answer.Message, "(PUT)") {
		return err
	}
	why, _, _ := strings.Cut(answer.Message, "replace the bindings (PUT)")
	return fmt.Errorf("%s: %s", cli.Line(strings.TrimRight(why, ":; ")), hint)
}
