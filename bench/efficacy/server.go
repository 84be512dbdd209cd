package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// server is a writd of our own on an empty folder.
type server struct {
	process *exec.Cmd
	url     string
	owner   string // access token of its first person
	email   string
	secret  string
	since   time.Time
	client  *http.Client
	mu      sync.Mutex // of owner and since
}

// startServer starts writd and signs its first person in.
func startServer(program, folder string) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	s := &server{
		process: exec.Command(program, "serve"),
		url:     "http://127.0.0.1:" + strconv.Itoa(port),
		client:  &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	s.process.Env = append(os.Environ(), "WRIT_DATA_DIR="+folder, "PORT="+strconv.Itoa(port))
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	if err := s.waitReady(); err != nil {
		return nil, err
	}
	var first struct{ Email, Password string }
	text, err := os.ReadFile(filepath.Join(folder, "first-run.json"))
	if err == nil {
		err = json.Unmarshal(text, &first)
	}
	s.email, s.secret = first.Email, first.Password
	return s, err
}

func (s *server) waitReady() error {
	for range 300 {
		answer, err := s.client.Get(s.url + "/ready")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s did not become ready", s.process.Path)
}

func (s *server) stop() {
	_ = s.process.Process.Signal(os.Interrupt)
	_ = s.process.Wait()
}

// errThrottled: people may answer only so fast. No answer about a call is throttled.
var errThrottled = errors.New("too many requests")

// asOwner calls the server as its first person, who waits when asked to.
func (s *server) asOwner(method, path string, body, answer any) error {
	for range 60 {
		token, err := s.signIn()
		if err != nil {
			return err
		}
		err = s.call(method, path, "Authorization", "Bearer "+token, body, answer)
		if !errors.Is(err, errThrottled) {
			return err
		}
		time.Sleep(5 * time.Second)
	}
	return errThrottled
}

// signIn is the first person's access token, renewed before it expires.
func (s *server) signIn() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.since) < 10*time.Minute {
		return s.owner, nil
	}
	var tokens struct{ AccessToken string }
	login := map[string]string{"email": s.email, "password": s.secret}
	if err := s.call(http.MethodPost, "/auth/login", "", "", login, &tokens); err != nil {
		return "", err
	}
	s.owner, s.since = tokens.AccessToken, time.Now()
	return s.owner, nil
}

// call sends JSON. Whatever is not a success ends the benchmark: a dead server must not look like a strict one.
func (s *server) call(method, path, header, credential string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(context.Background(), method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if header != "" {
		request.Header.Set(header, credential)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusTooManyRequests {
		return errThrottled
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, got)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(got, answer)
}
