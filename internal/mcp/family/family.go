// Package family ends programs together with what they have started: npx, uvx and shells start the program that one
// means, and leave it behind when they are ended alone.
//
// A program that leaves its family by itself, as daemons do, is not found. On Windows that is also one that was started
// in the instant before the family is known.
package family
