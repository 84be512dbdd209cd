// Package replay says what policies would have decided about recorded calls.
//
// The calls are the decisions of an organization's log. A record holds less than was
// judged: secrets are redacted, details may be erased, and some of what conditions can
// see is not stored. CallOf rebuilds the call and says what is missing, so that a
// missing value never counts as harmless: what depends on it is unknown, and unknown
// is never allowed.
//
// A replay is a job: Start stores it, and one of the servers runs it (Work) through
// the log in small slices and stores its report. It judges each call by today's
// policies and again with a draft in place, and simulates the limits of both at the
// recorded times.
package replay
