package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// namedConn is a command's connection to a listed name. Servers that many sites share answer for all of them, so that
// a TLS connection must ask for the listed name. Other protocols pass as they are.
type namedConn struct {
	net.Conn
	host    string
	input   io.Reader // what the command sends
	checked bool
	refuse  func(name string)
}

func (c *namedConn) Read(b []byte) (int, error) {
	if !c.checked {
		c.checked = true
		if err := c.check(); err != nil {
			_ = c.Conn.Close()
			return 0, err
		}
	}
	return c.input.Read(b)
}

// CloseWrite tells the command that nothing more comes.
func (c *namedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

// check reads the beginning, and keeps it to be read again.
func (c *namedConn) check() error {
	var read bytes.Buffer
	input := io.TeeReader(c.input, &read)
	first := make([]byte, 1)
	if _, err := io.ReadFull(input, first); err != nil {
		return err
	}
	if first[0] == tlsHandshake {
		name, err := serverName(c.Conn, io.MultiReader(bytes.NewReader(first), input))
		if err == nil && !strings.EqualFold(name, c.host) {
			err = fmt.Errorf("the connection asks for %q", name)
		}
		if err != nil {
			c.refuse(name)
			return err
		}
	}
	c.input = io.MultiReader(&read, c.input)
	return nil
}

var errHello = errors.New("no more than the hello is read")

// serverName is the name that the hello of a TLS connection asks for.
func serverName(conn net.Conn, input io.Reader) (name string, err error) {
	err = tls.Server(helloConn{conn, input}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errHello
		},
	}).Handshake()
	if errors.Is(err, errHello) {
		err = nil
	}
	return name, err
}

// helloConn reads from elsewhere and answers nothing.
type helloConn struct {
	net.Conn
	input io.Reader
}

func (c helloConn) Read(b []byte) (int, error)  { return c.input.Read(b) }
func (c helloConn) Write(b []byte) (int, error) { return len(b), nil }
