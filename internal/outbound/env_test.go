package outbound_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/outbound"
)

// names is a name server in memory: what each host resolves to, as it stands.
type names struct {
	mu    sync.Mutex
	hosts map[string][]netip.Addr
}

func newNames() *names { return &names{hosts: map[string][]netip.Addr{}} }

func (n *names) set(host string, texts ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[host] = nil
	for _, text := range texts {
		n.hosts[host] = append(n.hosts[host], netip.MustParseAddr(text))
	}
}

// resolver is a real resolver that asks this server, over a pipe.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve answers questions in the form they have on a stream: a length, then the
// message.
func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := n.answer(question)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))),
			answer...)); err != nil {
			return
		}
	}
}

// answer takes the question of a message and adds the addresses of its kind.
func (n *names) answer(message []byte) []byte {
	const header = 12
	var labels []string
	at := header
	for message[at] != 0 {
		size := int(message[at])
		labels = append(labels, string(message[at+1:at+1+size]))
		at += 1 + size
	}
	kind := binary.BigEndian.Uint16(message[at+1:])
	end := at + 5
	n.mu.Lock()
	addresses := n.hosts[strings.Join(labels, ".")]
	n.mu.Unlock()

	out := append([]byte{message[0], message[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, message[header:end]...)
	count := uint16(0)
	for _, address := range addresses {
		if address.Is4() != (kind == 1) || kind != 1 && kind != 28 {
			continue
		}
		count++
		out = append(out, 0xc0, header)
		out = binary.BigEndian.AppendUint16(out, kind)
		out = append(out, 0, 1, 0, 0, 0, 0)
		out = binary.BigEndian.AppendUint16(out, uint16(address.BitLen()/8))
		out = append(out, address.AsSlice()...)
	}
	binary.BigEndian.PutUint16(out[6:], count)
	return out
}

// target is a web server on this machine that counts who reaches it.
type target struct {
	*httptest.Server
	reached atomic.Int64
	port    string
}

func newTarget(t *testing.T, answer http.HandlerFunc) *target {
	t.Helper()
	target := &target{}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target.reached.Add(1)
		answer(w, r)
	}))
	t.Cleanup(target.Close)
	_, target.port, _ = net.SplitHostPort(target.Listener.Addr().String())
	return target
}

func fine(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

func permits(t *testing.T, texts ...string) []outbound.Permit {
	t.Helper()
	var list []outbound.Permit
	for _, text := range texts {
		permit, err := outbound.ParsePermit(text)
		if err != nil {
			t.Fatalf("ParsePermit(%q): %v", text, err)
		}
		list = append(list, permit)
	}
	return list
}

func newClient(t *testing.T, o outbound.Options) *outbound.Client {
	t.Helper()
	client := outbound.New(o)
	t.Cleanup(client.Close)
	return client
}
