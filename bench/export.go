package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// exportTarget is what an export may add to the memory of a server, whatever its size.
const exportTarget = "at most 32 MB more"

// exported is one export, and what the server held meanwhile.
type exported struct {
	name         string
	lines        int
	bytes        int64
	took         time.Duration
	before, peak int64 // bytes of resident memory
	ingested     int   // spans a second that were taken in beside it; 0: none were
}

func (b *bench) export(ctx context.Context) error {
	d := datasetOf(b.options)
	for _, i := range b.installations {
		var exports []exported
		err := i.whileServing(ctx, func(a *account) (err error) {
			exports, err = measureExports(ctx, a, d)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		if err := printExports(os.Stdout, i.engine, d, exports); err != nil {
			return err
		}
	}
	return nil
}

// measureExports loads a new organization, for that of the account may hold what
// other parts have loaded, and exports it, first alone and then while another one takes
// spans in as fast as it can.
func measureExports(ctx context.Context, a *account, d dataset) (exports []exported, err error) {
	if a, err = a.inNewOrganization(ctx, "Exported"); err != nil {
		return nil, err
	}
	if err := a.load(ctx, d, d.large); err != nil {
		return nil, err
	}
	busy, err := a.inNewOrganization(ctx, "Busy")
	if err != nil {
		return nil, err
	}
	if _, err := busy.ingestFor(ctx, recentPayloads(ingestConnections*payloadsEach), warmUp); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		name, query string
		besides     *account
	}{
		{"traces with spans, NDJSON", "format=ndjson", nil},
		{"spans, CSV", "format=csv&rows=spans", nil},
		{"spans, CSV, beside ingest", "format=csv&rows=spans", busy},
	} {
		export, err := a.export(ctx, e.query, e.besides)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		export.name = e.name
		exports = append(exports, export)
	}
	return exports, nil
}

// export reads an export to its end, and watches the server meanwhile.
func (a *account) export(ctx context.Context, query string, busy *account) (e exported, err error) {
	if err := a.renewToken(ctx); err != nil {
		return e, err
	}
	if e.before, err = a.server.memory(); err != nil {
		return e, err
	}
	watched, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	var watching, ingesting error
	group.Go(func() { e.peak, watching = a.server.mostMemory(watched) })
	if busy != nil {
		group.Go(func() { e.ingested, ingesting = busy.ingestUntil(watched) })
	}
	begin := time.Now()
	e.lines, e.bytes, err = a.readExport(ctx, query)
	e.took = time.Since(begin)
	stop()
	group.Wait()
	return e, errors.Join(err, watching, ingesting)
}

// ingestUntil takes spans in until the context ends, and gives how many a second.
func (a *account) ingestUntil(ctx context.Context) (perSecond int, err error) {
	payloads := recentPayloads(ingestConnections * payloadsEach)
	spans, begin := 0, time.Now()
	for ctx.Err() == nil {
		round, err := a.ingestFor(context.WithoutCancel(ctx), payloads, time.Second)
		if err != nil {
			return 0, err
		}
		spans += round.spans
	}
	return int(float64(spans) / time.Since(begin).Seconds()), nil
}

// mostMemory is the most the server holds until the context ends.
func (p *process) mostMemory(ctx context.Context) (peak int64, err error) {
	for ctx.Err() == nil {
		held, err := p.memory()
		if err != nil {
			return 0, err
		}
		peak = max(peak, held)
		time.Sleep(soakSample / 5)
	}
	return peak, nil
}

// readExport reads an export and drops it. It must say that it is complete.
func (a *account) readExport(ctx context.Context, query string) (lines int, size int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+a.server.address+"/organization/"+a.org+"/observability/traces/export?"+query, nil)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := (&http.Client{}).Do(request) // without a limit of time
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("the server answers %s", response.Status)
	}
	reader := bufio.NewReaderSize(response.Body, 1<<20)
	var last []byte
	for {
		line, err := reader.ReadSlice('\n')
		size += int64(len(line))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if !bytes.Contains(last, []byte("complete")) {
				return 0, 0, errors.New("the export does not say that it is complete")
			}
			return lines, size, nil
		case err != nil:
			return 0, 0, err
		default:
			lines++
			last = append(last[:0], line[:min(len(line), 100)]...)
		}
	}
}

func printExports(out io.Writer, engine string, d dataset, exports []exported) error {
	megabytes := func(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
	table := newTable(out, fmt.Sprintf("export of %d spans, %s", d.large*d.spansEach, engine), "size", "time",
		"spans/s", "memory before", "at most", "ingest beside it", "target")
	for _, e := range exports {
		beside, target := "-", exportTarget
		if e.ingested > 0 {
			beside, target = fmt.Sprintf("%d spans/s", e.ingested), "-" // ingest takes memory of its own
		}
		table.row(e.name, megabytes(e.bytes), e.took.Round(time.Millisecond).String(),
			fmt.Sprintf("%.0f", float64(d.large*d.spansEach)/e.took.Seconds()),
			megabytes(e.before), megabytes(e.peak), beside, target)
	}
	return table.Flush()
}
