package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	const good = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nDate: today\r\n\r\n{}"
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"good":               {good, true},
		"another status":     {strings.Replace(good, "200 OK", "429 Too Many Requests", 1), false},
		"another length":     {strings.Replace(good, ": 2", ": 3", 1), false},
		"unknown length":     {strings.Replace(good, "content-length: 2\r\n", "", 1), false},
		"length not a count": {strings.Replace(good, ": 2", ": x", 1), false},
		"cut off":            {good[:len(good)-1], false},
		"nothing":            {"", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := readAnswer(bufio.NewReader(strings.NewReader(test.text)), 2)
			if (err == nil) != test.ok {
				t.Errorf("readAnswer: %v, want accepted: %t", err, test.ok)
			}
		})
	}
}

func TestReadAnswerLeavesTheNext(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	r := bufio.NewReader(strings.NewReader(answer + answer))
	for n := range 2 {
		if err := readAnswer(r, 2); err != nil {
			t.Fatalf("answer %d: %v", n+1, err)
		}
	}
}

func TestReadBeginning(t *testing.T) {
	t.Parallel()
	const (
		whole  = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
		pieces = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n"
	)
	r := bufio.NewReader(strings.NewReader(whole + pieces + whole))
	for n := range 3 {
		if err := readBeginning(r, []byte(`{"a"`)); err != nil {
			t.Fatalf("answer %d: %v", n+1, err)
		}
	}
	for _, text := range []string{whole, pieces, strings.Replace(whole, "200", "503", 1), whole[:len(whole)-1], ""} {
		begins := []byte(`{"b"`)
		if len(text) != len(whole) || strings.Contains(text, "503") {
			begins = []byte(`{"a"`) // it is the rest that is wrong
		}
		if text != pieces && readBeginning(bufio.NewReader(strings.NewReader(text)), begins) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	if got, want := median([]float64{9, 1, 2}), 2.0; got != want {
		t.Errorf("median of three = %g, want %g", got, want)
	}
	if got, want := median([]float64{9, 1, 2, 4}), 3.0; got != want {
		t.Errorf("median of four = %g, want %g", got, want)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for n := range 100 {
		hundred = append(hundred, time.Duration(n+1))
	}
	for percent, want := range map[int]time.Duration{0: 1, 50: 50, 99: 99, 100: 100} {
		if got := percentile(hundred, percent); got != want {
			t.Errorf("percentile %d of 1 to 100 = %d, want %d", percent, got, want)
		}
	}
	if got, want := percentile([]time.Duration{7}, 99), time.Duration(7); got != want {
		t.Errorf("percentile of one value = %d, want %d", got, want)
	}
}
