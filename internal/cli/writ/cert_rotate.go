package writ

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ/client"
	"writ/internal/cli"
)

func certRotate(s cli.Streams) *cobra.Command {
	var o certOrder
	var a authorityRotation
	cmd := &cobra.Command{
		Use:   "rotate (CERTIFICATE --out NAME | --authority)",
		Short: "Replace a certificate, or the authority that signs them",
		Long: `Issue a certificate in place of another one, which is revoked unless --keep is given. With --authority, make a new
certificate authority of the organization: what the one before has signed counts until --overlap ends.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || a.wanted != (len(args) == 0) || a.wanted != (o.out == "") {
				return errors.New("give the id of a certificate and --out, or --authority")
			}
			return errors.Join(a.check(cmd.Flags()), refuseOthers(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.wanted {
				return a.run(cmd, s, &o.asPerson)
			}
			o.n.CertificateID = args[0]
			return o.run(cmd.Context(), s, func(
				ctx context.Context, c *client.Client,
			) (client.IssuedCertificate, error) {
				return c.RotateCertificate(ctx, o.orgID, o.n)
			})
		},
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.n.Keep, "keep", false, "leave the certificate before valid until it expires")
	f.BoolVar(&a.wanted, "authority", false, "replace the authority")
	cli.ChoiceFlag(cmd, &a.algorithm, "algorithm", "of the new authority: p256 or ed25519; as before unless given",
		"p256", "ed25519")
	a.overlap = 7 * 24 * time.Hour
	cli.DurationFlag(cmd, &a.overlap, "overlap",
		"how long the authority before is trusted; 0s ends it and earlier ones at once")
	return cmd
}

// authorityRotation replaces the authority.
type authorityRotation struct {
	wanted    bool
	algorithm string
	overlap   time.Duration
}

// check refuses flags that would do nothing.
func (a *authorityRotation) check(flags *pflag.FlagSet) error {
	if a.overlap > mostLife {
		return errors.New("--overlap must be from 0s to 7d")
	}
	useless, why := []string{"algorithm", "overlap"}, "is for --authority alone"
	if a.wanted {
		useless, why = []string{"life", "csr", "keep", "with-key"}, "is for a certificate, not for --authority"
	}
	for _, name := range useless {
		if flags.Changed(name) {
			return fmt.Errorf("--%s %s", name, why)
		}
	}
	return nil
}

// refuseOthers says what to give in place of a certificate's file, or of the name of whom it is for.
func refuseOthers(args []string) error {
	for _, name := range args {
		if uuidOf(name) != "" {
			continue
		}
		if _, err := os.Stat(name); err == nil {
			return fmt.Errorf("%q is a file: give the certificate's id, which writ cert check FILE prints", name)
		}
		return fmt.Errorf("%q is no id of a certificate: writ cert list shows them", name)
	}
	return nil
}

func (a *authorityRotation) run(cmd *cobra.Command, s cli.Streams, p *asPerson) error {
	made, err := call(cmd.Context(), p, func(
		ctx context.Context, c *client.Client,
	) (client.CertificateAuthority, error) {
		seconds := int64(a.overlap / time.Second)
		return c.RotateCertificateAuthority(ctx, p.orgID, a.algorithm, &seconds)
	})
	if err != nil {
		return err
	}
	ends := time.Now().Add(a.overlap)
	return show(&p.server, s, made, func(s cli.Streams, made client.CertificateAuthority) error {
		return printFacts(s, [][2]string{
			{"authority", made.AuthorityID}, {"algorithm", made.Algorithm}, {"fingerprint", made.Fingerprint},
			{"expires", made.ExpiresAt.UTC().Format(time.RFC3339)}, {"list", made.ListURL},
			{"before", "trusted until " + ends.UTC().Format(time.RFC3339)},
		})
	})
}
