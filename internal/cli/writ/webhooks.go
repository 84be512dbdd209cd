package writ

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/notification/notice"
)

// webhooks holds the commands about the addresses that get events.
func webhooks(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "webhooks", Short: "List, make, test and remove the webhooks of an organization",
		Long: `List, make, test and remove the webhooks of an organization: addresses that get signed events. A webhook is named by
id or by exact name. Owners and admins do this.`,
	}
	c.AddCommand(webhooksList(s), webhooksShow(s), byHand(webhooksCreate(s)), byHand(webhooksSet(s, "enable", true)),
		byHand(webhooksSet(s, "disable", false)), byHand(webhooksTest(s)), webhooksDeliveries(s),
		byHand(webhooksRemove(s)))
	return c
}

func webhooksList(s cli.Streams) *cobra.Command {
	var p asPerson
	list := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Webhook], error) {
		return whole(p.webhooks(ctx, c))
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the webhooks of an organization", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, func(s cli.Streams, found client.Page[client.Webhook]) error {
			if len(found.Items) == 0 {
				fmt.Fprintln(s.Err, "writ: there is no webhook: writ webhooks create makes one")
				return nil
			}
			rows := make([][]any, len(found.Items))
			for i, w := range found.Items {
				rows[i] = []any{w.ID, w.Name, w.Kind, webhookState(w), w.Target, w.Waiting, w.Dead, ago(w.DeliveredAt)}
			}
			return cli.WriteTable(s.Out, "ID\tNAME\tKIND\tSTATE\tTARGET\tWAITING\tDEAD\tDELIVERED", rows)
		}),
	}
	p.addFlags(cmd)
	return cmd
}

func (p *asPerson) webhooks(ctx context.Context, c *client.Client) ([]client.Webhook, error) {
	return inOrganization(ctx, c, p, func(orgID string) ([]client.Webhook, error) { return c.Webhooks(ctx, orgID) })
}

// webhookState says how a webhook stands, in a word.
func webhookState(w client.Webhook) string {
	switch {
	case !w.Enabled:
		return "disabled"
	case w.FailingSince != nil:
		return "failing"
	}
	return "active"
}

// oneWebhook is the RunE of a command about the webhook that its first argument names, by id or exact name.
func oneWebhook[T any](
	p *asPerson, s cli.Streams,
	ask func(ctx context.Context, c *client.Client, orgID string, w client.Webhook) (T, error),
	print func(cli.Streams, T) error,
) func(*cobra.Command, []string) error {
	return asking(p, s, func(ctx context.Context, c *client.Client, args []string) (none T, err error) {
		found, err := p.webhooks(ctx, c)
		if err != nil {
			return none, err
		}
		var named []client.Webhook
		for _, w := range found {
			if w.ID == uuidOf(args[0]) || w.Name == args[0] {
				named = append(named, w)
			}
		}
		if len(named) != 1 {
			return none, fmt.Errorf("%s called %q: give %s of writ webhooks list",
				howMany(len(named), "webhook", "webhooks"), args[0], idOrName(len(named)))
		}
		return inOrganization(ctx, c, p, func(orgID string) (T, error) { return ask(ctx, c, orgID, named[0]) })
	}, print)
}

func webhooksShow(s cli.Streams) *cobra.Command {
	var p asPerson
	cmd := &cobra.Command{
		Use: "show WEBHOOK", Short: "Show a webhook", Args: cobra.ExactArgs(1),
		RunE: oneWebhook(&p, s, func(
			_ context.Context, _ *client.Client, _ string, w client.Webhook,
		) (client.Webhook, error) {
			return w, nil
		}, printWebhook),
	}
	p.addFlags(cmd)
	return cmd
}

func printWebhook(s cli.Streams, w client.Webhook) error {
	t := &sheet{}
	t.row("webhook", w.ID)
	t.row("name", w.Name)
	t.row("kind", w.Kind)
	t.row("state", webhookState(w))
	t.row("because", w.DisabledReason)
	t.row("target", w.Target)
	t.row("events", strings.Join(w.Events, " "))
	t.row("delivered", ago(w.DeliveredAt))
	t.row("waiting", fmt.Sprint(w.Waiting))
	t.row("dead", fmt.Sprint(w.Dead))
	if w.Secret != "" {
		t.row("secret", w.Secret)
		fmt.Fprintln(s.Err, "writ: the secret is not shown again")
	}
	return t.print(s)
}

func webhooksCreate(s cli.Streams) *cobra.Command {
	var p asPerson
	var n client.NewWebhook
	n.Kind = "generic"
	kinds := eventKinds()
	create := func(ctx context.Context, c *client.Client, args []string) (client.Webhook, error) {
		n.URL = args[0]
		return inOrganization(ctx, c, &p, func(orgID string) (client.Webhook, error) {
			made, err := c.CreateWebhook(ctx, orgID, n)
			if err == nil {
				tellSameWebhook(ctx, c, s, orgID, made.Name)
			}
			return made, err
		})
	}
	cmd := &cobra.Command{
		Use: "create ADDRESS --name NAME", Short: "Make a webhook, and print its secret: once",
		Args: cobra.ExactArgs(1),
		Long: "Make a webhook, and print its secret: once. --name is required.\n\nThe kinds of events are\n  " +
			strings.Join(kinds, "\n  "),
		RunE: asking(&p, s, create, printWebhook),
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&n.Name, "name", "", "what it is called; required")
	cli.ChoiceFlag(cmd, &n.Kind, "kind", "the form of events: generic, slack, teams", "generic", "slack", "teams")
	cli.ChoicesFlag(cmd, &n.Events, "event", "a kind of event that it gets; repeat it for several; unless given "+
		"approval.opened, approval.approved, approval.rejected and approval.expired", kinds...)
	f.BoolVar(&n.SendArguments, "send-arguments", false, "send the arguments of calls too")
	cli.RequireFlags(cmd, "name")
	return cmd
}

// tellSameWebhook says that commands cannot name a webhook by its name, where another one has it too.
func tellSameWebhook(ctx context.Context, c *client.Client, s cli.Streams, orgID, name string) {
	found, err := c.Webhooks(ctx, orgID)
	if err != nil {
		return // it is made, whether or not it can be compared
	}
	same := 0
	for _, w := range found {
		if w.Name == name {
			same++
		}
	}
	if same > 1 {
		fmt.Fprintf(s.Err, "writ: %d webhooks are called %q now: commands take their ids only\n", same, name)
	}
}

// eventKinds are the kinds of events that a webhook can get.
func eventKinds() (kinds []string) {
	for _, kind := range notice.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return kinds
}

func webhooksSet(s cli.Streams, name string, enabled bool) *cobra.Command {
	var p asPerson
	short := "Send events to a webhook again"
	if !enabled {
		short = "Send no more events to a webhook"
	}
	cmd := &cobra.Command{
		Use: name + " WEBHOOK", Short: short, Args: cobra.ExactArgs(1),
		RunE: oneWebhook(&p, s, func(
			ctx context.Context, c *client.Client, orgID string, w client.Webhook,
		) (client.Webhook, error) {
			return c.UpdateWebhook(ctx, orgID, w.ID, map[string]any{"enabled": enabled})
		}, printWebhook),
	}
	p.addFlags(cmd)
	return cmd
}

func webhooksTest(s cli.Streams) *cobra.Command {
	var p asPerson
	var sent client.WebhookDelivery
	test := oneWebhook(&p, s, func(
		ctx context.Context, c *client.Client, orgID string, w client.Webhook,
	) (_ client.WebhookDelivery, err error) {
		sent, err = c.TestWebhook(ctx, orgID, w.ID)
		return sent, err
	}, printDelivery)
	cmd := &cobra.Command{
		Use: "test WEBHOOK", Short: "Send a test event at once; exit code 1 where it is not delivered",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := test(cmd, args); err != nil {
				return err
			}
			if sent.Status != "delivered" {
				return errors.New("the test event was not delivered")
			}
			return nil
		},
	}
	p.addFlags(cmd)
	return cmd
}

func printDelivery(s cli.Streams, d client.WebhookDelivery) error {
	t := &sheet{}
	t.row("delivery", d.ID)
	t.row("status", d.Status)
	if d.HTTPStatus != 0 {
		t.row("answer", fmt.Sprint(d.HTTPStatus))
	}
	t.row("problem", d.Problem)
	return t.print(s)
}

func webhooksDeliveries(s cli.Streams) *cobra.Command {
	var p asPerson
	var page client.List
	var status string
	cmd := &cobra.Command{
		Use: "deliveries WEBHOOK", Short: "List what was sent to a webhook, newest first", Args: cobra.ExactArgs(1),
		RunE: oneWebhook(&p, s, func(
			ctx context.Context, c *client.Client, orgID string, w client.Webhook,
		) (client.Page[client.WebhookDelivery], error) {
			return c.WebhookDeliveries(ctx, orgID, w.ID, status, page)
		}, func(s cli.Streams, found client.Page[client.WebhookDelivery]) error {
			if len(found.Items) == 0 {
				fmt.Fprintln(s.Err, "writ: nothing was sent to it")
				return nil
			}
			rows := make([][]any, len(found.Items))
			for i, d := range found.Items {
				rows[i] = []any{d.ID, d.Kind, d.Status, d.Attempts, d.HTTPStatus, ago(&d.CreatedAt), orDash(d.Problem)}
			}
			return printPage(s, "ID\tEVENT\tSTATUS\tATTEMPTS\tANSWER\tMADE\tPROBLEM", rows, found.NextCursor)
		}),
	}
	p.addFlags(cmd)
	addPageFlags(cmd, &page)
	cli.ChoiceFlag(cmd, &status, "status", "of this status: waiting, delivered, dead", "waiting", "delivered", "dead")
	return cmd
}

func webhooksRemove(s cli.Streams) *cobra.Command {
	var p asPerson
	cmd := &cobra.Command{
		Use: "remove WEBHOOK", Short: "Remove a webhook, with what waits to be sent", Args: cobra.ExactArgs(1),
		RunE: oneWebhook(&p, s, func(
			ctx context.Context, c *client.Client, orgID string, w client.Webhook,
		) (client.Webhook, error) {
			return w, c.DeleteWebhook(ctx, orgID, w.ID)
		}, func(s cli.Streams, gone client.Webhook) error {
			_, err := fmt.Fprintf(s.Out, "removed %s\n", cli.Line(gone.Name))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}
