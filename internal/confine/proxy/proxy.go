// Package proxy connects a confined command to the hosts that it may reach. It is apart from package sandbox, because
// what it links takes long to start, and most commands have no network.
package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"writ/internal/confine/sandbox"
	"writ/internal/outbound"
)

// Limits of the proxy.
const (
	proxyConnections = 256
	proxyHead        = 16 << 10 // bytes of a request
	proxyHeadTime    = 10 * time.Second
	proxyDialTime    = 15 * time.Second
	proxyIdle        = 5 * time.Minute
)

// Proxy connects a command to the listed hosts and to no other. It knows CONNECT alone, and
// reads of what it carries only the name that a TLS connection asks for.
type Proxy struct {
	allowed map[string]bool // HOST:PORT in lower case
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	slots   chan struct{}

	mu      sync.Mutex
	refused sandbox.Counter
}

// New returns a proxy to targets, HOST:PORT each.
func New(hosts []string) *Proxy {
	p := &Proxy{
		allowed: map[string]bool{},
		lookup:  net.DefaultResolver.LookupNetIP,
		slots:   make(chan struct{}, proxyConnections),
		refused: sandbox.Counter{},
	}
	for _, host := range hosts {
		p.allowed[target(host)] = true
	}
	return p
}

// target is the one form in which targets are compared.
func target(hostPort string) string {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return ""
	}
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.Unmap().String()
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), port)
}

// Serve accepts connections from a listening socket, which it closes, until stop is called.
func (p *Proxy) Serve(socket *os.File) (stop func(), err error) {
	defer socket.Close()
	listener, err := net.FileListener(socket)
	if err != nil {
		return nil, fmt.Errorf("serve the proxy: %w", err)
	}
	go p.serve(listener)
	return func() { _ = listener.Close() }, nil
}

// serve answers until the listener is closed.
func (p *Proxy) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // such as too many open files
			continue
		}
		select {
		case p.slots <- struct{}{}:
			go func() {
				defer func() { <-p.slots }()
				defer conn.Close()
				p.handle(conn)
			}()
		default:
			_ = conn.Close()
		}
	}
}

func (p *Proxy) handle(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(proxyHeadTime))
	reader := bufio.NewReader(io.LimitReader(conn, proxyHead))
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	if request.Method != http.MethodConnect {
		answer(conn, http.StatusMethodNotAllowed, "only CONNECT is supported; use https")
		return
	}
	to := target(request.Host)
	ctx, cancel := context.WithTimeout(context.Background(), proxyDialTime)
	defer cancel()
	upstream, status, reason := p.dial(ctx, to)
	if upstream == nil {
		if status == http.StatusForbidden {
			p.refuse(request.Host)
		}
		answer(conn, status, reason)
		return
	}
	defer upstream.Close()
	_ = conn.SetDeadline(time.Now().Add(proxyHeadTime))
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	early, _ := reader.Peek(reader.Buffered())
	carry(p.named(conn, to, early), upstream)
}

// named is the command's connection with what came early. To an address, any name may be asked for.
func (p *Proxy) named(conn net.Conn, to string, early []byte) net.Conn {
	host, _, _ := net.SplitHostPort(to)
	_, err := netip.ParseAddr(host)
	return &namedConn{
		Conn:    conn,
		host:    host,
		input:   io.MultiReader(bytes.NewReader(early), conn),
		checked: err == nil,
		refuse:  func(name string) { p.refuse(name + " by way of " + to) },
	}
}

// dial connects to a listed target. A name must lead to a public address; others are
// reached only where the address itself is listed.
func (p *Proxy) dial(ctx context.Context, to string) (conn net.Conn, status int, reason string) {
	if to == "" || !p.allowed[to] {
		return nil, http.StatusForbidden, "this host and port are not among those of --net"
	}
	host, port, _ := net.SplitHostPort(to)
	addresses, err := p.addresses(ctx, host)
	if err != nil {
		return nil, http.StatusBadGateway, "the name was not found"
	}
	if len(addresses) == 0 {
		return nil, http.StatusForbidden, "the name leads to no public address; list the address itself"
	}
	var dialer net.Dialer
	for _, address := range addresses {
		if conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.String(), port)); err == nil {
			return conn, http.StatusOK, ""
		}
	}
	return nil, http.StatusBadGateway, "the host was not reached"
}

func (p *Proxy) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	found, err := p.lookup(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var public []netip.Addr
	for _, address := range found {
		if address = address.Unmap(); outbound.IsPublic(address) {
			public = append(public, address)
		}
	}
	return public, nil
}

// maxHostLength bounds what of a refused target is reported.
const maxHostLength = 260

func (p *Proxy) refuse(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused.Add(host[:min(len(host), maxHostLength)])
}

// Refused lists the targets that were refused.
func (p *Proxy) Refused() []sandbox.Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused.List()
}

func answer(conn net.Conn, status int, reason string) {
	fmt.Fprintf(conn,
		"HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\n",
		status, http.StatusText(status), len(reason)+1, reason)
}

// carry copies both ways until one side ends or nothing moves for a while.
func carry(a, b net.Conn) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			defer func() { done <- struct{}{} }()
			pump(pair[0], pair[1])
		}()
	}
	<-done
	<-done
}

func pump(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(time.Now().Add(proxyIdle))
		n, err := from.Read(buffer)
		if n > 0 {
			_ = to.SetWriteDeadline(time.Now().Add(proxyIdle))
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				_ = from.Close()
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
