// Package evasion tests package shell, and the confinement behind it, by doing: it makes
// commands that try to leave the workspace, runs each in a throw-away sandbox with
// canaries around the workspace, and compares what happened with what was said of it.
//
// A candidate is composed: an effect (write, read, start), a target and its spelling, a
// program that carries the effect, a way to quote each word, and the commands wrapped
// around it. All of it follows from one seed. There is nothing here but tests;
// docs/shell.md says how to run them.
package evasion
