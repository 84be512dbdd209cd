package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/audit/witness"
	"writ/internal/config"
	"writ/internal/outbound"
)

// newWitness makes the sender of checkpoints; without a witness it sends nothing.
func (a *Areas) newWitness(c config.Config, now func() time.Time) (*witness.Sender, error) {
	var targets []witness.Target
	if c.Witness.File != "" {
		a.witnessFile = witness.NewFile(c.Witness.File, now)
		targets = append(targets, a.witnessFile)
	}
	if c.Witness.URL.IsSet() {
		permit, err := permitOf(c.Witness.URL.Reveal())
		if err != nil {
			return nil, fmt.Errorf("WRIT_WITNESS_URL: %w", err)
		}
		a.witnessPost = outbound.New(outbound.Options{Permits: append(slices.Clone(c.OutboundAllow), permit)})
		targets = append(targets, witness.NewEndpoint(c.Witness.URL, c.Witness.Token, a.witnessPost))
	}
	return witness.NewSender(a.checkpoints, now, targets...), nil
}

// witnessBehind tells how long a witness has missed checkpoints; nil where there is none.
func (a *Areas) witnessBehind() func() time.Duration {
	if !a.witness.Enabled() {
		return nil
	}
	return func() (behind time.Duration) {
		for _, status := range a.witness.Status() {
			behind = max(behind, status.Behind)
		}
		return behind
	}
}

// permitOf permits the host of an address that the operator chose.
func permitOf(address string) (outbound.Permit, error) {
	u, err := url.Parse(address)
	if err != nil {
		return outbound.Permit{}, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return outbound.ParsePermit(net.JoinHostPort(u.Hostname(), port))
}

// checkpoints are those of logs that were written since an instant.
func (a *Areas) checkpoints(ctx context.Context, since int64) ([]witness.Checkpoint, int64, error) {
	signed, next, err := a.log.SignedSince(ctx, since)
	all := make([]witness.Checkpoint, len(signed))
	for i, s := range signed {
		all[i] = witness.Checkpoint{Log: s.Log, Epoch: s.Epoch, Size: s.Size, Signed: s.Checkpoint}
	}
	return all, next, err
}

// checkWitness compares the logs with the last checkpoints in the witness file.
func (a *Areas) checkWitness(ctx context.Context, found func(audit.Problem)) error {
	if a.witnessFile == nil {
		return nil
	}
	differs, err := compareWitness(ctx, a.log, a.witnessFile)
	for log, why := range differs {
		found(audit.Problem{Log: log, Kind: audit.BadWitness, Message: why + ": " + witnessAdvice})
	}
	return err
}

// witnessAdvice is the way out where the logs are not those that the witness file has seen.
const witnessAdvice = "find out which of the two was altered. If the database was put back by hand, restore the newest " +
	"backup with `writd restore FILE`. If a restore is all there is to it, such as one that undid a rotation of the key " +
	"for checkpoints, or the file is of another installation, move the witness file away, keep it, and start the server: " +
	"it begins a new one (docs/audit-log.md, When a check finds something)"

// compareWitness says, by log, how the logs are not those of the last checkpoints in a witness file. With an error it
// gives those that it had compared.
func compareWitness(ctx context.Context, log *audit.Log, file *witness.File) (map[string]string, error) {
	differs := map[string]string{}
	latest, err := file.Latest()
	if err != nil {
		return differs, err
	}
	for name, signed := range latest {
		if err := log.Covers(ctx, name, signed); errors.Is(err, audit.ErrNotCovered) {
			differs[name] = err.Error()
		} else if err != nil {
			return differs, err
		}
	}
	return differs, nil
}

// WitnessDiffers says, by log, how a restored log is not the one that the witness file has seen; empty: they agree, or
// there is no file. A server refuses such a log.
type WitnessDiffers map[string]string

// compareRestored compares logs that were restored with the witness file. A file that cannot be read stops no restore.
func compareRestored(ctx context.Context, c config.Config, log *audit.Log) WitnessDiffers {
	if c.Witness.File == "" {
		return nil
	}
	differs, err := compareWitness(ctx, log, witness.NewFile(c.Witness.File, time.Now))
	if err != nil {
		differs["the witness file"] = "it was not compared: " + err.Error()
	}
	return differs
}

// Advice is what to do next; empty: nothing.
func (w WitnessDiffers) Advice() string {
	if len(w) == 0 {
		return ""
	}
	return "the logs in witnessDiffers are not those that the witness file (WRIT_WITNESS_FILE) has seen, and a server refuses them: " +
		witnessAdvice
}
