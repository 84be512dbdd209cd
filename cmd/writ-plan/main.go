// Command writ-plan is the MCP server by which a coding agent registers its plan. It is a program of its own, because
// writ starts before every tool call, and what it links takes time to start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"writ/internal/cli"
	"writ/internal/hook/guardfile"
	"writ/internal/planserver"
)

func main() {
	planserver.Harden()
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "writ-plan: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("writ-plan", flag.ContinueOnError)
	path := flags.String("config", "", "the guard `FILE`; absent: guard.json in the user's folder of writ")
	version := flags.Bool("version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *version:
		fmt.Println(cli.Version)
		return nil
	case *path == "":
		var err error
		if *path, err = guardfile.DefaultPath(); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := planserver.Serve(ctx, planserver.FromFile(*path), cli.Version); ctx.Err() == nil {
		return err
	}
	return nil // the host ends it by a signal
}
