package upstream

import "time"

// DrainFor lets answers end for this long, for tests on a busy machine.
func (d *Dialer) DrainFor(drain time.Duration) { d.drain = drain }
