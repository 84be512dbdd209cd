package writ

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// mostListed is how many things a server lists at once.
const mostListed = 200

// maxCount is the most that --count takes.
const maxCount = 1_000_000_000

// listing is a command that lists things of an organization, newest first.
type listing[T any] struct {
	headings string
	none     string // is said where there is nothing
	read     func(ctx context.Context, c *client.Client, p *asPerson, page client.List) (client.Page[T], error)
	row      func(T) []any
	key      func(T) string // what a thing is known by that was printed before; nil: it is not watched
	whole    bool           // it has no pages, and anything in it may change: what is watched are changes
}

// listFlags are the flags of a command that lists.
type listFlags struct {
	asPerson
	page  client.List
	watch bool
	every time.Duration
	count int
}

// command makes a listing the work of a command.
func (l listing[T]) command(cmd *cobra.Command, f *listFlags, s cli.Streams) *cobra.Command {
	f.addFlags(cmd)
	if !l.whole {
		addPageFlags(cmd, &f.page)
	}
	if l.key != nil {
		cmd.Flags().BoolVar(&f.watch, "watch", false, "go on, and print what comes, one a line")
		f.every = 2 * leastEvery
		cli.DurationFlag(cmd, &f.every, "every", "with --watch: how often to ask, at most once a second")
		cli.NumberFlag(cmd, &f.count, "count", "with --watch: print only what comes from now on, and end after so many lines; 0: never",
			0, maxCount)
	}
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		for _, name := range []string{"count", "every"} {
			if !f.watch && cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for --watch", name)
			}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.watch {
			return l.follow(cmd.Context(), f, s)
		}
		found, err := l.ask(cmd.Context(), f, f.page)
		if err != nil {
			return err
		}
		return show(&f.server, s, found, l.print)
	}
	return cmd
}

func (l listing[T]) ask(ctx context.Context, f *listFlags, page client.List) (client.Page[T], error) {
	return call(ctx, &f.asPerson, func(ctx context.Context, c *client.Client) (client.Page[T], error) {
		return l.read(ctx, c, &f.asPerson, page)
	})
}

func (l listing[T]) print(s cli.Streams, found client.Page[T]) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: "+l.none)
		return nil
	}
	rows := make([][]any, len(found.Items))
	for i, item := range found.Items {
		rows[i] = l.row(item)
	}
	return printPage(s, l.headings, rows, found.NextCursor)
}

// follow prints what is there and then what comes, oldest first, each thing once. Whoever counts waits for something:
// what is there already is none of it.
func (l listing[T]) follow(ctx context.Context, f *listFlags, s cli.Streams) error {
	tick := time.NewTicker(max(f.every, leastEvery))
	defer tick.Stop()
	var seen repeats
	printed := 0
	for first := true; ; first = false {
		fresh, err := l.fresh(ctx, f, &seen)
		switch {
		case ctx.Err() != nil:
			return nil // interrupted, as people end it
		case err != nil:
			return err
		case first && f.count > 0:
			fmt.Fprintln(s.Err, "writ: watching for what comes; interrupt to end")
			fresh = nil
		case first && !l.whole:
			fresh = fresh[max(len(fresh)-f.page.Limit, 0):]
		}
		for _, item := range fresh {
			err := show(&f.server, s, item, func(s cli.Streams, item T) error {
				return cli.WriteRow(s.Out, l.row(item))
			})
			if err != nil {
				return err
			}
			if printed++; printed == f.count {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// fresh are the things that were not seen before, oldest first. Pages are read until one has something that was seen;
// what stands behind that is older than all of it.
func (l listing[T]) fresh(ctx context.Context, f *listFlags, seen *repeats) (fresh []T, err error) {
	if l.whole {
		return l.changed(ctx, f, seen)
	}
	page, begun := client.List{Limit: mostListed}, len(seen.recent) > 0
	for range maxPages {
		found, err := l.ask(ctx, f, page)
		if err != nil {
			return nil, err
		}
		known := len(found.Items)
		for known > 0 && !seen.has(l.key(found.Items[known-1])) {
			known--
		}
		some := found.Items
		if known > 0 {
			some = some[:known]
		}
		for _, item := range some {
			if !seen.has(l.key(item)) {
				fresh = append(fresh, item)
			}
		}
		if page.Cursor = found.NextCursor; !begun || known > 0 || page.Cursor == "" {
			break
		}
	}
	for _, item := range fresh {
		seen.add(l.key(item))
	}
	slices.Reverse(fresh)
	return fresh, nil
}

// changed are the things of a whole list that are not as they were the last time.
func (l listing[T]) changed(ctx context.Context, f *listFlags, seen *repeats) (changed []T, err error) {
	found, err := l.ask(ctx, f, client.List{})
	if err != nil {
		return nil, err
	}
	var now repeats
	for _, item := range found.Items {
		if !seen.has(l.key(item)) {
			changed = append(changed, item)
		}
		now.add(l.key(item))
	}
	*seen = now
	return changed, nil
}

// errEndless says that a server never came to the last page.
var errEndless = fmt.Errorf("the server says that there is more after %d pages, or gives one page twice", maxPages)

// eachPage reads page after page until one is the last, or see has what it looks for. A server that always says that
// there is more is not followed for ever.
func eachPage[T any](read func(client.List) (client.Page[T], error), see func([]T) (done bool, err error)) error {
	page := client.List{Limit: mostListed}
	for range maxPages {
		found, err := read(page)
		if err != nil {
			return err
		}
		if done, err := see(found.Items); done || err != nil || found.NextCursor == "" {
			return err
		}
		if found.NextCursor == page.Cursor {
			break
		}
		page.Cursor = found.NextCursor
	}
	return errEndless
}

// howMany begins a sentence about how many things are something: "no key is", "2 keys are".
func howMany(n int, one, several string) string {
	if n == 0 {
		return "no " + one + " is"
	}
	return fmt.Sprintf("%d %s are", n, several)
}

// idOrName is what to give in place of a name that n things have.
func idOrName(n int) string {
	if n == 0 {
		return "a name or an id"
	}
	return "an id"
}

// whole is a list that comes whole, as a page.
func whole[T any](items []T, err error) (client.Page[T], error) {
	return client.Page[T]{Items: append([]T{}, items...)}, err
}

// inOrganization is a question about one organization, whose id is part of the address.
func inOrganization[T any](
	ctx context.Context, c *client.Client, p *asPerson, ask func(orgID string) (T, error),
) (T, error) {
	orgID, err := p.organization(ctx, c)
	if err != nil {
		var none T
		return none, err
	}
	return ask(orgID)
}
