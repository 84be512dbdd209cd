// Package delegation is where a person says yes to a call that an agent may not
// make on its own.
//
// A decision that ends in hold or ask opens a request. The same call finds the
// same request again, however often a client polls. A person approves or
// rejects it; an approval is a grant for one run of exactly that call, and the
// decision that lets the call run consumes it in its own transaction.
//
//	Open ──> pending ──Approve──> approved (a grant: used once, or it expires)
//	            ├──Reject──> rejected: the call is denied until the request expires
//	            ├──Cancel──> cancelled, by who asked
//	            └──time────> expired: the next call opens another
//
// A call is its key, server, tool and the digest of its canonical arguments,
// and what is wanted of approvers: a grant that one person gave does not serve
// where the policy now wants two. Plan and e-mail tell calls apart where both
// sides state them.
//
// The owner of a key does not approve what the key asks for, unless there is
// nobody else in the organization who could; an ask, however, is a question to
// that very person. No key approves anything.
package delegation
