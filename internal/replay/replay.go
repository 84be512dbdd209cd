// Package replay says what policies would have done to calls that were made.
//
// The calls are the decisions of an organization's log. A record has less than
// was judged: secrets were taken out of the arguments, details may be erased, and
// some of what conditions can see is not kept at all. CallOf is the one way from a
// record back to a call, and says what is missing beside what is there, so that
// nobody takes a missing value for a harmless one: what depends on it is unknown,
// and unknown is never allowed.
//
// A replay is a job: Start stores it, one of the servers runs it (Work) through
// the log in small slices, and its report is kept. It judges each call by the
// policies of today and again with a draft in place, and simulates the limits of
// both over the recorded times.
package replay
