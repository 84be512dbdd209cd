package writ_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// exporter is a server that gives an export in parts, by the cursor they are asked
// with. A part that ends with ! breaks its connection.
func exporter(t *testing.T, parts map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part, known := parts[r.URL.Query().Get("cursor")]
		if !known || !strings.HasSuffix(r.URL.Path, "/export") {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		text, breaks := strings.CutSuffix(part, "!")
		fmt.Fprint(w, text)
		if breaks {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// export runs writ traces export against a server, and gives what it prints.
func export(t *testing.T, url string, args ...string) (out string, err error) {
	t.Helper()
	var printed, told bytes.Buffer
	args = append([]string{
		"traces", "export", "--url", url, "--token", withToken(t), "--organization",
		"0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30",
	}, args...)
	err = writ.Run(context.Background(), args, cli.Streams{Out: &printed, Err: &told})
	return printed.String(), err
}

func TestExportIsPutTogether(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct {
		parts  map[string]string
		format string
		want   string
	}{
		"in one part": {map[string]string{
			"": "{\"id\":\"1\"}\n{\"end\":{\"complete\":true,\"lines\":1}}\n",
		}, "ndjson", "{\"id\":\"1\"}\n{\"end\":{\"complete\":true,\"lines\":1}}\n"},
		"of nothing": {map[string]string{
			"": "{\"end\":{\"complete\":true,\"lines\":0}}\n",
		}, "ndjson", "{\"end\":{\"complete\":true,\"lines\":0}}\n"},
		"in three, two of them cut": {map[string]string{
			"": "{\"id\":\"1\"}\n{\"id\":\"" + long +
				"\"}\n{\"end\":{\"complete\":false,\"lines\":2,\"message\":\"m\",\"cursor\":\"a\"}}\n!",
			"a": "{\"id\":\"3\"}\n{\"end\":{\"complete\":false,\"lines\":1,\"message\":\"m\",\"cursor\":\"b\"}}\n!",
			"b": "{\"id\":\"4\"}\n{\"end\":{\"complete\":true,\"lines\":1}}\n",
		}, "ndjson",
			"{\"id\":\"1\"}\n{\"id\":\"" + long +
				"\"}\n{\"id\":\"3\"}\n{\"id\":\"4\"}\n{\"end\":{\"complete\":true,\"lines\":4}}\n"},
		"as a table with one header": {map[string]string{
			"":  "\"id\",\"name\",\"a\",\"b\",\"c\"\r\n\"1\",\"two\nlines\",,,\r\n\"# cut\",1,\"m\",\"a\",\r\n!",
			"a": "\"id\",\"name\",\"a\",\"b\",\"c\"\r\n\"2\",\"n\",,,\r\n\"# complete\",1,\"\",\"\",\r\n",
		}, "csv",
			"\"id\",\"name\",\"a\",\"b\",\"c\"\r\n\"1\",\"two\nlines\",,,\r\n\"2\",\"n\",,,\r\n\"# complete\",2,\"\",\"\",\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := exporter(t, c.parts)
			if out, err := export(t, url, "--format", c.format); err != nil || out != c.want {
				t.Errorf("%.300q, %v; want %.300q", out, err, c.want)
			}
			file := filepath.Join(t.TempDir(), "export")
			if _, err := export(t, url, "--format", c.format, "--out", file); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != c.want {
				t.Errorf("the file is %.300q, %v; want %.300q", text, err, c.want)
			}
		})
	}
}

// TestAPartIsNotTheWhole: an export that is cut fails, and leaves no file of its
// name, nor takes the place of one that is there.
func TestAPartIsNotTheWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts map[string]string
		args  []string
		want  string
	}{
		"a broken connection":     {map[string]string{"": "{\"id\":\"1\"}\n!"}, nil, "the export was cut off"},
		"in the middle of a line": {map[string]string{"": "{\"id\":"}, nil, "the export was cut off"},
		"without a last line":     {map[string]string{"": "{\"id\":\"1\"}\n"}, nil, "its last line is missing"},
		"nothing at all":          {map[string]string{"": ""}, nil, "its last line is missing"},
		"cut, and nobody says where": {
			map[string]string{
				"": "{\"id\":\"1\n{\"end\":{\"complete\":false,\"lines\":0,\"message\":\"the disk is full\"}}\n!",
			},
			nil, "the disk is full",
		},
		"cut in the same place for good": {map[string]string{
			"":  "{\"end\":{\"complete\":false,\"lines\":0,\"message\":\"m\",\"cursor\":\"a\"}}\n!",
			"a": "{\"end\":{\"complete\":false,\"lines\":0,\"message\":\"m\",\"cursor\":\"a\"}}\n!",
		}, nil, "the export was cut off: m"},
		"goes on after its end": {
			map[string]string{"": "{\"end\":{\"complete\":true,\"lines\":0}}\n{\"id\":\"1\"}\n"}, nil,
			"goes on after the last line",
		},
		"breaks after its end": {
			map[string]string{"": "{\"end\":{\"complete\":true,\"lines\":0}}\n!"}, nil, "the export was cut off",
		},
		"a table that is cut": {
			map[string]string{"": "\"id\",\"a\",\"b\",\"c\"\r\n\"# cut\",0,\"m\",\"\"\r\n!"},
			[]string{"--format", "csv"}, "the export was cut off: m",
		},
		"a table with a short end": {
			map[string]string{"": "\"id\"\r\n\"# complete\",0\r\n"}, []string{"--format", "csv"},
			"not that of an export",
		},
		"one trace that is cut":    {map[string]string{"": "{\"id\":!"}, []string{"1"}, "the export was cut off"},
		"one trace that is not":    {nil, []string{"1"}, "404"},
		"a page that is no export": {map[string]string{"": "<html>\n"}, nil, "its last line is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file := filepath.Join(folder, "export")
			for _, before := range []string{"", "what was there"} {
				args := append(slices.Clone(c.args), "--out", file)
				if before != "" {
					args = append(args, "--force")
					if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				_, err := export(t, exporter(t, c.parts), args...)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want an error with %q", err, c.want)
				}
				if text, err := os.ReadFile(file); before != "" && string(text) != before ||
					before == "" && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the file is %q, %v; want %q", text, err, before)
				}
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
				t.Errorf("%d files are left, %v", len(left), err)
			}
		})
	}
}

// TestExportReplacesOnlyFiles: neither a device nor a folder makes place for an export,
// and a link is replaced, not followed.
func TestExportReplacesOnlyFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url := exporter(t, map[string]string{"": "{\"end\":{\"complete\":true,\"lines\":0}}\n"})
	secret, link, device := filepath.Join(folder, "secret"), filepath.Join(folder, "link"),
		filepath.Join(folder, "device")
	if err := errors.Join(os.WriteFile(secret, []byte("kept"), 0o600), os.Symlink(secret, link),
		os.Symlink(os.DevNull, device)); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{device, folder} {
		if _, err := export(t, url, "--out", target); err == nil || !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := export(t, url, "--out", link); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a link: %v", err)
	}
	if _, err := export(t, url, "--force", "--out", link); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "kept" {
		t.Errorf("behind the link is %q, %v", text, err)
	}
	if is, err := os.Lstat(link); err != nil || !is.Mode().IsRegular() || is.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", is, err)
	}
}

func TestExportIsAskedWell(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--format", "xml"}, {"--rows", "models"}, {"--format", "json"}, {"id", "--format", "csv"}, {"--json"},
		{"--rows", "sessions", "--session", "s"}, {"--errors", "--no-errors"}, {"a", "b"},
	} {
		if _, err := export(t, "http://localhost:1", args...); !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%v: %v, want an error of the command line", args, err)
		}
	}
}
