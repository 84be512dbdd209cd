package writ

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/intent/trust"
)

// verifying is what `writ trust verify` is asked.
type verifying struct {
	server
	keysFile string
	at       string
}

// verifiedChain is what `writ trust verify --json` prints.
type verifiedChain struct {
	OrganizationID string         `json:"organizationId"`
	PlanHash       string         `json:"planHash"`
	Versions       int            `json:"versions"` // of the plan, in the token
	At             time.Time      `json:"at"`       // when it counts
	Delegations    []verifiedLink `json:"delegations"`
}

// verifiedLink is a delegation of a verified token.
type verifiedLink struct {
	ID        string    `json:"id"`
	Delegate  string    `json:"delegate"`
	AgentID   string    `json:"agentId,omitempty"`
	Tools     []string  `json:"tools"`
	Budget    int64     `json:"budget,omitempty"`
	Further   int       `json:"maxDepth"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func trustVerify(s cli.Streams) *cobra.Command {
	var v verifying
	cmd := &cobra.Command{
		Use: "verify FILE|-", Short: "Verify the token of a delegation, without trusting who shows it",
		Long: `Verify the token of a delegation from the published keys alone: every signature, that each delegation permits no more than
the one it came from and does not outlive it, and that all of it counts now, or at the time of --at. FILE holds the token,
or the answer or object that it came in (jwt_token), of which the token alone is read: the other members prove nothing.

The keys are those of the server, or those in the file of --keys, which is the answer of GET /iap/keys: nothing is asked
then. What was revoked since only the server knows: ask it with writ trust show.

Exit codes: 0 it is valid, 1 it is not or nobody could tell, 2 the command line is wrong.`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			_, err := v.time()
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readInput(s, args[0])
			if err != nil {
				return err
			}
			at, err := v.time()
			if err != nil {
				return err
			}
			keys, err := v.keys(cmd.Context())
			if err != nil {
				return err
			}
			chain, err := trust.Verify(tokenIn(text), keys, at)
			if err != nil {
				return err
			}
			return show(&v.server, s, toldChain(chain, at), printChain)
		},
	}
	v.server.addFlags(cmd)
	cmd.Flags().StringVar(&v.keysFile, "keys", "", "file with the server's published keys: the answer of GET /iap/keys")
	cmd.Flags().StringVar(&v.at, "at", "", "when it must count, as 2026-01-31T12:00:00Z; now unless given")
	return cmd
}

func (v *verifying) time() (time.Time, error) {
	if v.at == "" {
		return time.Now(), nil
	}
	at, err := time.Parse(time.RFC3339, v.at)
	if err != nil {
		return time.Time{}, errors.New("--at must be a time, as 2026-01-31T12:00:00Z")
	}
	return at, nil
}

// keys are the published keys, of the file or of the server.
func (v *verifying) keys(ctx context.Context) (trust.Published, error) {
	var published client.PlanKeys
	if v.keysFile == "" {
		found, err := v.find()
		if err != nil {
			return nil, err
		}
		c := &client.Client{BaseURL: found.URL}
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		if published, err = c.PlanKeys(ctx); err != nil {
			return nil, err
		}
		return trustKeys(published)
	}
	text, err := readSmall(v.keysFile)
	if err != nil {
		return nil, fmt.Errorf("read the keys in %s: %w", v.keysFile, err)
	}
	if json.Unmarshal([]byte(text), &published) != nil {
		return nil, v.noKeys()
	}
	keys, err := trustKeys(published)
	if err == nil && len(keys) == 0 {
		return nil, v.noKeys()
	}
	return keys, err
}

// noKeys is about a file of something else: without it, the token would be blamed for what the file lacks.
func (v *verifying) noKeys() error {
	return fmt.Errorf("%s holds no keys that verify delegations: --keys takes the answer of GET /iap/keys", v.keysFile)
}

func trustKeys(published client.PlanKeys) (trust.Published, error) {
	keys := trust.Published{}
	for _, k := range published.Keys {
		public, err := hex.DecodeString(k.PublicKey)
		if err != nil || len(public) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("the published key %s is no public key of Ed25519", cli.Line(k.ID))
		}
		if k.Purpose == "trust" {
			keys[k.ID] = public
		}
	}
	return keys, nil
}

// tokenIn is the token in a text: as it is, or as the member of what it came in.
func tokenIn(text []byte) string {
	var in struct {
		JWT        string `json:"jwt_token"`
		Delegation struct {
			JWT string `json:"jwt_token"`
		} `json:"delegation"`
	}
	if json.Unmarshal(text, &in) == nil {
		if in.JWT != "" {
			return in.JWT
		}
		return in.Delegation.JWT
	}
	return strings.TrimSpace(string(text))
}

func toldChain(chain *trust.Chain, at time.Time) verifiedChain {
	told := verifiedChain{
		OrganizationID: chain.OrgID, PlanHash: chain.Plan.PlanHash, Versions: len(chain.Anchors) + 1, At: at.UTC(),
	}
	for i := range chain.Links {
		l := &chain.Links[i]
		link := verifiedLink{
			ID:        l.ID,
			Delegate:  l.Delegate,
			AgentID:   l.AgentID,
			Tools:     []string{},
			Budget:    l.Budget,
			Further:   l.Further,
			ExpiresAt: time.Unix(l.Expires, 0).UTC(),
		}
		for _, step := range l.Steps {
			var named struct{ MCP, Tool string }
			if json.Unmarshal(step.Step, &named) == nil {
				link.Tools = append(link.Tools, strings.TrimPrefix(named.MCP+"."+named.Tool, "."))
			}
		}
		told.Delegations = append(told.Delegations, link)
	}
	return told
}

func printChain(s cli.Streams, c verifiedChain) error {
	fmt.Fprintf(s.Out, "valid at %s\norganization %s, plan %s in %s\n",
		c.At.Format(time.RFC3339), cli.Line(c.OrganizationID), cli.Line(c.PlanHash), cli.Count(c.Versions, "version"))
	for i, l := range c.Delegations {
		who := "whoever holds " + l.Delegate
		if l.AgentID != "" {
			who = "the agent " + l.AgentID + " with the key " + l.Delegate
		}
		fmt.Fprintf(s.Out, "%d. %s to %s, until %s: %s\n", i+1, cli.Line(l.ID), cli.Line(who),
			l.ExpiresAt.Format(time.RFC3339), cli.Line(strings.Join(l.Tools, " ")))
	}
	fmt.Fprintln(s.Err, "writ: what was revoked since is not in a token; writ trust show asks the server")
	return nil
}
