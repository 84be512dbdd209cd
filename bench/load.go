package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// answerWithin is how long a server may keep a connection waiting.
const answerWithin = 10 * time.Second

// target is a server and the one request it is asked, over and over.
type target struct {
	server  *process
	request []byte
	answer  []byte // what it said the first time; every answer has its length
	// begins, where it is set, is what every answer begins with, and lengths may
	// differ.
	begins []byte
}

// newTarget asks once, in the ordinary way.
func newTarget(server *process, path, apiKey string) (target, error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+server.address+path, nil)
	if err != nil {
		return target{}, err
	}
	request.Header.Set("X-Api-Key", apiKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return target{}, fmt.Errorf("ask %s: %w", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return target{}, errors.Join(fmt.Errorf("ask %s: %s", path, response.Status), err)
	}
	text := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: writ-bench\r\nAccept: application/json\r\nX-Api-Key: %s\r\n\r\n", path, server.address, apiKey)
	return target{server: server, request: []byte(text), answer: body}, nil
}

// round is what one server did in one turn.
type round struct {
	requests int
	elapsed  time.Duration
	p50, p99 time.Duration // as the client sees it
	cpu      time.Duration // of the server
}

func (r round) perSecond() float64 { return float64(r.requests) / r.elapsed.Seconds() }

func (r round) cpuPerRequest() time.Duration { return r.cpu / time.Duration(r.requests) }

// askFor loads the server for a while.
func (t target) askFor(length time.Duration, connections int) (round, error) {
	return t.ask(connections, length, math.MaxInt)
}

// askTimes asks the server at least so often.
func (t target) askTimes(requests, connections int) error {
	each := (requests + connections - 1) / connections
	r, err := t.ask(connections, readyWithin, each)
	if err == nil && r.requests < requests {
		err = fmt.Errorf("%d requests took longer than %s", requests, readyWithin)
	}
	return err
}

// ask keeps every connection busy with one request at a time, until the time is
// over or each has asked so often.
func (t target) ask(connections int, length time.Duration, each int) (round, error) {
	lines, err := t.connect(connections, length)
	defer func() {
		for _, l := range lines {
			l.Close()
		}
	}()
	if err != nil {
		return round{}, err
	}
	before, err := t.server.cpu()
	if err != nil {
		return round{}, err
	}
	latencies := make([][]time.Duration, connections)
	errs := make([]error, connections)
	var group sync.WaitGroup
	begin := time.Now()
	for i, l := range lines {
		group.Go(func() { latencies[i], errs[i] = t.askOn(l, begin.Add(length), each) })
	}
	group.Wait()
	elapsed := time.Since(begin)
	after, err := t.server.cpu()
	if err := errors.Join(append(errs, err)...); err != nil {
		return round{}, err
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	return round{
		requests: len(all),
		elapsed:  elapsed,
		p50:      percentile(all, 50),
		p99:      percentile(all, 99),
		cpu:      after - before,
	}, nil
}

// connect opens the connections. Those that are open at an error are returned
// too, to be closed.
func (t target) connect(connections int, length time.Duration) ([]net.Conn, error) {
	var lines []net.Conn
	for range connections {
		line, err := net.Dial("tcp", t.server.address)
		if err != nil {
			return lines, fmt.Errorf("connect: %w", err)
		}
		lines = append(lines, line)
		if err := line.SetDeadline(time.Now().Add(length + answerWithin)); err != nil {
			return lines, fmt.Errorf("connect: %w", err)
		}
	}
	return lines, nil
}

// askOn asks on one connection. It speaks HTTP/1.1 by hand, because the client
// shares the processors with the server: what it costs is not measured twice.
func (t target) askOn(line net.Conn, end time.Time, times int) ([]time.Duration, error) {
	var latencies []time.Duration
	reader := bufio.NewReader(line)
	for sent := time.Now(); sent.Before(end) && len(latencies) < times; {
		if _, err := line.Write(t.request); err != nil {
			return nil, fmt.Errorf("send a request: %w", err)
		}
		if err := t.read(reader); err != nil {
			return nil, fmt.Errorf("read an answer: %w", err)
		}
		received := time.Now()
		latencies = append(latencies, received.Sub(sent))
		sent = received
	}
	return latencies, nil
}

// read reads one answer and accepts only what the target always says.
func (t target) read(r *bufio.Reader) error {
	if t.begins != nil {
		return readBeginning(r, t.begins)
	}
	return readAnswer(r, len(t.answer))
}

// readAnswer reads one answer and accepts only a 200 with a body of that size.
func readAnswer(r *bufio.Reader, size int) error {
	length, err := readHead(r)
	if err != nil {
		return err
	}
	if length != size {
		return fmt.Errorf("the body has %d bytes (-1: it does not say), not %d", length, size)
	}
	_, err = r.Discard(length)
	return err
}

// unsaid is the length of a body whose head does not say one.
const unsaid = -1

// readHead reads the head of an answer, accepts only a 200, and returns how long
// the body is.
func readHead(r *bufio.Reader) (length int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("the server says %q", bytes.TrimSpace(line))
	}
	length = unsaid
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return 0, err
		}
		name, value, isHeader := bytes.Cut(line, []byte(":"))
		if !isHeader {
			return length, nil // the empty line
		}
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
}

// readBeginning reads one answer of any length, whole or in chunks, and accepts
// only a 200 whose body begins so.
func readBeginning(r *bufio.Reader, begins []byte) error {
	length, err := readHead(r)
	if err != nil {
		return err
	}
	inChunks := length == unsaid
	for first := true; ; first = false {
		if inChunks {
			if length, err = readChunkSize(r); err != nil {
				return err
			}
		}
		if first {
			if start, err := r.Peek(len(begins)); err != nil || !bytes.Equal(start, begins) {
				return fmt.Errorf("the body begins with %q, not %q", start, begins)
			}
		}
		if inChunks {
			length += len("\r\n") // ends every chunk, and the last, which is empty
		}
		if _, err := r.Discard(length); err != nil || !inChunks || length == len("\r\n") {
			return err
		}
	}
}

func readChunkSize(r *bufio.Reader) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
	return int(size), err
}
