package writ

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	"writ/client"
)

// noAnswer is an error of a first call in one sentence where nobody answered it: the
// libraries below name the address three times, and not what to do.
func noAnswer(address, doing string, err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok || client.StatusOf(err) != 0 {
		return fmt.Errorf("%s: %w", doing, err)
	}
	cause := failed.Err
	if name, ok := errors.AsType[*net.DNSError](cause); ok {
		cause = errors.New(name.Err)
	} else if op, ok := errors.AsType[*net.OpError](cause); ok {
		cause = op.Err
	}
	return fmt.Errorf("no Writ server answers at %s (%w): is it running? --url or WRIT_URL names another", address, cause)
}
