package writ

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/duration"
)

// Times that count where the server states none (RFC 8628), and how much longer to
// wait when it says to slow down.
const (
	usualInterval = 5 * time.Second
	usualLife     = 10 * time.Minute
	slowDownBy    = 5 * time.Second
	longestLife   = time.Hour
)

// sayWaiting tells a person how long this waits, and what ends it. Whom the page does not let approve must refuse
// there: of itself it tells the terminal nothing, because somebody else can still approve.
func sayWaiting(s cli.Streams, code client.DeviceCode) {
	if cli.IsTerminal(s.Err) {
		fmt.Fprintf(s.Err, "writ: waiting for the answer, for %s at most; refusing on the page ends this, and so does Ctrl-C\n",
			duration.Format(lifeOf(code)))
	}
}

// lifeOf is how long a code is waited for.
func lifeOf(code client.DeviceCode) time.Duration {
	return min(seconds(code.ExpiresIn, usualLife), longestLife)
}

// polling asks whether a person approved this terminal.
type polling struct {
	client *client.Client
	wait   func(context.Context, time.Duration) error
}

// errRefused says that a person refused, or may not have what they approved.
var errRefused = errors.New("this terminal was refused on the page, and is not signed in: run writ login to ask again")

// errExpired says that nobody answered in time.
var errExpired = errors.New("nobody approved this terminal in time: run writ login again")

// run asks until there is an answer. An error of the network is none: the person may
// be approving just now.
func (p polling) run(ctx context.Context, code client.DeviceCode) (client.DeviceGrant, error) {
	interval := seconds(code.Interval, usualInterval)
	bounded, cancel := context.WithTimeout(ctx, lifeOf(code))
	defer cancel()
	for {
		if p.wait(bounded, interval) != nil {
			return client.DeviceGrant{}, ended(ctx)
		}
		granted, err := p.ask(bounded, code.DeviceCode)
		switch refusal := client.DeviceError(err); {
		case err == nil && (granted.APIKey != "" || granted.AccessToken != ""):
			return granted, nil
		case bounded.Err() != nil:
			return client.DeviceGrant{}, ended(ctx)
		case refusal == client.DeviceSlowDown:
			interval += slowDownBy
		case err == nil, refusal == client.DevicePending, passing(err):
		case refusal == client.DeviceDenied:
			return client.DeviceGrant{}, errRefused
		case refusal == client.DeviceExpired:
			return client.DeviceGrant{}, errExpired
		default:
			return client.DeviceGrant{}, fmt.Errorf("wait for the approval of this terminal: %w", err)
		}
	}
}

func (p polling) ask(ctx context.Context, deviceCode string) (client.DeviceGrant, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return p.client.PollDevice(ctx, deviceCode, client.WritClient)
}

// passing reports whether an error may pass: of the network, or of a busy server.
func passing(err error) bool {
	status := client.StatusOf(err)
	return status == 0 || status >= 500 || status == 429
}

// ended is why the waiting ended: the person at this terminal interrupted it, or time
// did.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return cli.Ended(cli.ExitFailure) // they know
	}
	return errExpired
}

func seconds(n int, otherwise time.Duration) time.Duration {
	if n <= 0 || n > int(longestLife/time.Second) {
		return otherwise
	}
	return time.Duration(n) * time.Second
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
