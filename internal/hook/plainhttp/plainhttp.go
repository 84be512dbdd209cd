// Package plainhttp calls a server by HTTP/1.1 without TLS, and links almost nothing: net/http takes as long
// to start as a whole hook may.
//
// It knows only what hooks need: one request on one connection, and an answer that says how long it is. It reads no
// setting of the environment, follows no redirect and uses no proxy, because whoever sets those could answer in the
// place of the server.
package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Limits of an answer.
const (
	maxHeader = 64 << 10
	maxBody   = 4 << 20
	maxHints  = 5 // answers that only announce another
)

// Caller calls one server with one API key.
type Caller struct {
	host string // with a port
	name string // as the header Host has it
	base string // of all paths
	key  string
}

// New makes a caller for an address that begins with http://.
func New(address, key string) (*Caller, error) {
	rest, ok := strings.CutPrefix(address, "http://")
	name, base, _ := strings.Cut(rest, "/")
	if !ok || name == "" || strings.ContainsAny(address, "@?# \r\n") || strings.ContainsAny(key, "\r\n") {
		return nil, errors.New("the server's address must be http://HOST[:PORT][/PATH]")
	}
	c := &Caller{host: name, name: name, base: strings.TrimRight("/"+base, "/"), key: key}
	if _, _, err := net.SplitHostPort(name); err != nil {
		c.host = net.JoinHostPort(strings.Trim(name, "[]"), "80")
	}
	return c, nil
}

// Call sends a request, with a JSON body unless that is nil, and gives the status and body of the answer. The path may
// have a query, and must be escaped.
func (c *Caller) Call(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.host)
	if err != nil {
		return 0, nil, errors.New("the server cannot be reached")
	}
	defer connection.Close()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Minute)
	}
	if err := connection.SetDeadline(deadline); err != nil {
		return 0, nil, err
	}
	if _, err := connection.Write(c.request(method, path, body)); err != nil {
		return 0, nil, errors.New("the request cannot be sent")
	}
	status, answer, err = readAnswer(connection)
	if err != nil {
		return 0, nil, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return status, answer, nil
}

func (c *Caller) request(method, path string, body []byte) []byte {
	head := method + " " + c.base + path + " HTTP/1.1\r\nHost: " + c.name +
		"\r\nUser-Agent: writ-hook\r\nAccept: application/json\r\nConnection: close\r\nX-API-Key: " + c.key
	if body != nil {
		head += "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body))
	}
	return append([]byte(head+"\r\n\r\n"), body...)
}

// readAnswer reads one answer. One that does not say how long it is, or says it twice, is refused: it may be cut.
func readAnswer(connection io.Reader) (status int, body []byte, err error) {
	in := bufio.NewReader(connection)
	budget := maxHeader
	for range maxHints {
		head, err := readHead(in, &budget)
		switch {
		case err != nil:
			return 0, nil, err
		case head.status < 200:
			continue
		}
		body, err := head.body(in)
		return head.status, body, err
	}
	return 0, nil, errors.New("it announces too many others")
}

// head is what an answer says before its body.
type head struct {
	status  int
	length  int // -1: it is not said
	chunked bool
}

func readHead(in *bufio.Reader, budget *int) (h head, err error) {
	line, err := readLine(in, budget)
	if err != nil {
		return h, err
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	h.status, err = strconv.Atoi(code)
	if err != nil || len(code) != 3 || h.status < 100 || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return h, errors.New("it is not HTTP")
	}
	for h.length = -1; ; {
		line, err := readLine(in, budget)
		if err != nil || line == "" {
			return h, err
		}
		name, value, found := strings.Cut(line, ":")
		if !found || name == "" || strings.ContainsAny(name, " \t") {
			return h, errors.New("it has a header that is none")
		}
		if err := h.add(strings.ToLower(name), strings.TrimSpace(value)); err != nil {
			return h, err
		}
	}
}

// add takes the headers that say how long the body is.
func (h *head) add(name, value string) error {
	switch name {
	case "content-length":
		length, err := strconv.ParseUint(value, 10, 31)
		if err != nil || h.length >= 0 {
			return errors.New("its length is said twice, or is no number")
		}
		h.length = int(length)
	case "transfer-encoding":
		if h.chunked || !strings.EqualFold(value, "chunked") {
			return errors.New("it is encoded in an unknown way")
		}
		h.chunked = true
	case "content-encoding":
		if !strings.EqualFold(value, "identity") {
			return errors.New("it is encoded in an unknown way")
		}
	}
	return nil
}

func (h *head) body(in *bufio.Reader) ([]byte, error) {
	switch {
	case h.chunked && h.length >= 0, !h.chunked && h.length < 0:
		return nil, errors.New("it does not say how long it is")
	case h.chunked:
		return readChunks(in)
	case h.length > maxBody:
		return nil, errTooLong
	}
	body := make([]byte, h.length)
	_, err := io.ReadFull(in, body)
	return body, err
}

var errTooLong = fmt.Errorf("it has more than %d MiB", maxBody>>20)

func readChunks(in *bufio.Reader) (body []byte, err error) {
	budget := maxHeader
	for {
		line, err := readLine(in, &budget)
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(line, ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		switch {
		case err != nil:
			return nil, errors.New("a part of it has no length")
		case size == 0:
			return body, nil // what follows are headers, which say nothing here
		case len(body)+int(size) > maxBody:
			return nil, errTooLong
		}
		begin := len(body)
		body = append(body, make([]byte, size)...)
		if _, err := io.ReadFull(in, body[begin:]); err != nil {
			return nil, err
		}
		if line, err := readLine(in, &budget); err != nil || line != "" {
			return nil, errors.New("a part of it is longer than said")
		}
	}
}

// readLine reads a line without its end, and takes its length from the budget.
func readLine(in *bufio.Reader, budget *int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if *budget -= len(part); *budget < 0 {
			return "", errors.New("its headers are too long")
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
}
