// Package nametest is a name server for tests, whose names move while a test runs.
package nametest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Names is a name server in memory: what each host resolves to, as it stands.
type Names struct {
	mu    sync.Mutex // guards hosts
	hosts map[string][]netip.Addr
}

// New has no names.
func New() *Names { return &Names{hosts: map[string][]netip.Addr{}} }

// Set says what a host resolves to from now on.
func (n *Names) Set(host string, texts ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[host] = nil
	for _, text := range texts {
		n.hosts[host] = append(n.hosts[host], netip.MustParseAddr(text))
	}
}

// Resolver is a real resolver that asks this server, over a pipe.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve answers questions in the form they have on a stream: a length, then the
// message.
func (n *Names) serve(conn net.Conn) {
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
func (n *Names) answer(message []byte) []byte {
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
