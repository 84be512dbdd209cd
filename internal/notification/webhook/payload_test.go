package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/secret"
)

// bodies makes a webhook of a kind, has one event happen and gives what arrived.
func (e *env) body(n webhook.New, change func(*notice.Event)) []byte {
	e.T.Helper()
	made := e.create(n)
	e.number++
	event := e.event(notice.Opened)
	change(&event)
	e.enqueue(event)
	e.deliver()
	e.target.mu.Lock()
	defer e.target.mu.Unlock()
	if len(e.target.got) == 0 {
		e.T.Fatalf("nothing arrived at %s", made.ID)
	}
	return e.target.got[len(e.target.got)-1].Body
}

func asIs(*notice.Event) {}

func TestGenericPayload(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		body := e.body(webhook.New{}, asIs)
		got := decode(t, body)
		if got.Type != "approval.opened" || got.OrganizationID != e.org || got.Number != 1 ||
			got.Title != "bank.pay1 waits for an approval (risk: high)" || got.ID == "" {
			t.Errorf("body: %s", body)
		}
		for name, want := range map[string]any{
			"id": "11111111-1111-4111-8111-111111111111", "kind": "hold", "status": "pending", "server": "bank",
			"tool": "pay1",
			"risk": "high", "reason": "more than 100", "expiresAt": "2030-01-01T13:00:00Z",
			"url": "https://writ.example.org/ui/approvals/11111111-1111-4111-8111-111111111111",
		} {
			if got.Request[name] != want {
				t.Errorf("%s is %v, want %v", name, got.Request[name], want)
			}
		}
		if strings.Contains(string(body), "amount") {
			t.Errorf("arguments were sent without being asked for: %s", body)
		}
	})
}

// TestUnknownArgumentsAreSaid in every format, whether the webhook sends arguments or not.
func TestUnknownArgumentsAreSaid(t *testing.T) {
	t.Parallel()
	const fact = "Arguments unknown: nobody has seen those of the call"
	for kind, want := range map[webhook.Kind]string{
		webhook.Generic: `"argumentsFrom":"unknown"`, webhook.Slack: fact, webhook.Teams: fact,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				body := string(e.body(webhook.New{Kind: kind, SendArguments: true}, func(e *notice.Event) {
					e.Request.Arguments, e.Request.ArgumentsFrom = "", "unknown"
				}))
				if !strings.Contains(body, want) || !strings.Contains(body, "(risk: high, arguments unknown)") {
					t.Errorf("it does not say so: %s", body)
				}
			})
		})
	}
}

// TestArgumentsAreRedactedAndCut where a webhook sends them.
func TestArgumentsAreRedactedAndCut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		got := decode(t, e.body(webhook.New{SendArguments: true}, asIs))
		if got.Request["arguments"] != `{"amount":500,"password":"[redacted]"}` {
			t.Errorf("arguments: %v", got.Request["arguments"])
		}
		long := decode(t, e.body(webhook.New{Name: "long", SendArguments: true}, func(event *notice.Event) {
			event.Request.Arguments = `{"text":"` + strings.Repeat("é", 5000) + `"}`
		}))
		text, _ := long.Request["arguments"].(string)
		if len(text) > 2000 || len(text) < 1990 || !strings.HasSuffix(text, "é…") {
			t.Errorf("%d bytes of arguments were sent: %.40s", len(text), text)
		}
		broken := decode(t, e.body(webhook.New{Name: "broken", SendArguments: true}, func(event *notice.Event) {
			event.Request.Arguments = `{"password":"hunter2"`
		}))
		if broken.Request["arguments"] != nil {
			t.Errorf("what cannot be redacted was sent: %v", broken.Request["arguments"])
		}
	})
}

// hostile is an event of an agent that chose its names well.
func hostile(e *notice.Event) {
	e.Request.Tool = "pay<!channel> [free](https://evil.example) *now*"
	e.Request.Reason = "see <https://evil.example|the policy>\nReason: none"
}

func TestSlackPayload(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		body := e.body(webhook.New{Kind: webhook.Slack, SendArguments: true}, hostile)
		var got struct {
			Text   string
			Blocks []struct {
				Type string
				Text struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal(body, &got); err != nil || len(got.Blocks) != 2 {
			t.Fatalf("%s: %v", body, err)
		}
		words, link := got.Blocks[0].Text, got.Blocks[1].Text
		if words.Type != "plain_text" ||
			!strings.Contains(words.Text, `Arguments: {"amount":500,"password":"[redacted]"}`) ||
			len(words.Text) > 3000 {
			t.Errorf("words: %+v", words)
		}
		if strings.ContainsAny(got.Text+words.Text, "<>") || strings.Count(words.Text, "\nReason") != 0 {
			t.Errorf("an agent's text is not escaped: %s", body)
		}
		if link.Type != "mrkdwn" ||
			link.Text != "<https://writ.example.org/ui/approvals/11111111-1111-4111-8111-111111111111|Open the request>" {
			t.Errorf("link: %+v", link)
		}
	})
}

func TestTeamsPayload(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		body := e.body(webhook.New{Kind: webhook.Teams}, hostile)
		var got struct {
			Type        string
			Attachments []struct {
				ContentType string
				Content     struct {
					Type, Version string
					Body          []struct {
						Type    string
						Inlines []struct{ Type, Text string }
					}
					Actions []struct{ Type, Title, URL string }
				}
			}
		}
		if err := json.Unmarshal(body, &got); err != nil || len(got.Attachments) != 1 {
			t.Fatalf("%s: %v", body, err)
		}
		card := got.Attachments[0]
		if got.Type != "message" || card.ContentType != "application/vnd.microsoft.card.adaptive" ||
			card.Content.Type != "AdaptiveCard" || card.Content.Version != "1.4" {
			t.Errorf("card: %s", body)
		}
		for _, block := range card.Content.Body {
			if block.Type != "RichTextBlock" || len(block.Inlines) != 1 || block.Inlines[0].Type != "TextRun" {
				t.Errorf("a block in which Markdown is read: %+v", block)
			}
		}
		if len(card.Content.Actions) != 1 ||
			card.Content.Actions[0].URL != "https://writ.example.org/ui/approvals/11111111-1111-4111-8111-111111111111" {
			t.Errorf("actions: %+v", card.Content.Actions)
		}
	})
}

// TestNoPayloadIsTooLong: an agent cannot make a delivery that is refused.
func TestNoPayloadIsTooLong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for _, kind := range []webhook.Kind{webhook.Generic, webhook.Slack, webhook.Teams} {
			body := e.body(webhook.New{Name: string(kind), Kind: kind, SendArguments: true}, func(event *notice.Event) {
				long := strings.Repeat("&", 100_000)
				event.Request.Reason, event.Request.Note, event.Request.Reasons = long, long,
					[]string{long, long, long, long, long, long, long, long, long, long, long}
				event.Request.Arguments = `{"a":"` + long + `"}`
			})
			if len(body) > 28<<10 { // what Teams takes
				t.Errorf("%s: %d bytes", kind, len(body))
			}
		}
	})
}

// TestSignature by the definition in the documentation, computed elsewhere:
// printf '1893499200.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
func TestSignature(t *testing.T) {
	t.Parallel()
	got := webhook.Sign(secret.NewText("whsec_test"), "1893499200", []byte(`{"a":1}`))
	if want := "v1=b658514ed4c298ff006037d30a2cff21e805fe503f1f018f262f8aa1b1201c0c"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}
