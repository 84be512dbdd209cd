package app

import (
	"context"
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
	latest, err := a.witnessFile.Latest()
	if err != nil {
		return err
	}
	for log, signed := range latest {
		if err := a.log.Covers(ctx, log, signed); isContradiction(err) {
			found(audit.Problem{Log: log, Kind: audit.BadWitness, Message: err.Error()})
		} else if err != nil {
			return err
		}
	}
	return nil
}
