// Package clientpolicy shows policies in the forms other parties know: the allow and
// deny lists of an agent's manifest, and the validation and snapshot that SDKs
// keep beside a plan.
//
// There is one language behind all of them. What a face cannot say is refused
// with its place, or said more strictly; it is never said more loosely. The
// property tests hold every face to that.
package clientpolicy
