package cli_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const enforcementPage = "../../docs/enforcement.md"

// TestEnforcementPage runs every command of the page on enforcement, in order, in
// one shell and against a server that has just been started for the first time, with
// somebody in front of the browser. A text block is all that the block before it
// prints; … in it means anything.
func TestEnforcementPage(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t, enforcementPage)
	for _, b := range readBlocks(t, "../../docs/evidence.md") { // which goes on from there
		b.line += 1000
		blocks = append(blocks, b)
	}
	runPage(t, blocks, 7)
}

func runPage(t *testing.T, blocks []block, least int) {
	t.Helper()
	folder := t.TempDir()
	url := serveFirstTime(t, folder)
	var script strings.Builder
	script.WriteString(atHome)
	wants := map[int]string{} // by the line of the block of commands
	var last int
	for _, b := range blocks {
		switch b.kind {
		case "sh":
			last = b.line
			fmt.Fprintf(&script, "printf '%s%d\\n'\n%s\n", blockMark, b.line, b.text)
		case "text":
			wants[last] = b.text
		default:
			t.Errorf("line %d: a block of kind %q is not tested; see TestEnforcementPage", b.line, b.kind)
		}
	}
	if len(wants) < least {
		t.Errorf("%d blocks say what is printed, want at least %d: is the page read as it is written?", len(wants),
			least)
	}
	commands := strings.NewReplacer("http://localhost:8080", url, "bin/writ ", "writ ").Replace(script.String())
	comparePrinted(t, runShell(t, folder, commands), wants)
}

// blockMark begins the line that says which block prints what follows.
const blockMark = "=== block in line "

// runShell runs commands that must all succeed, and gives what they print.
func runShell(t *testing.T, folder, commands string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Dir, shell.Stdin = folder, strings.NewReader(commands)
	printed, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands of the page: %v\n%s", err, printed)
	}
	return string(printed)
}

func comparePrinted(t *testing.T, printed string, wants map[int]string) {
	t.Helper()
	for part := range strings.SplitSeq(printed, blockMark) {
		number, got, _ := strings.Cut(part, "\n")
		if number == "" {
			continue
		}
		line, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q is no line", number)
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(wants[line]), "…", ".+")
		if !regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got) {
			t.Errorf("the commands in line %d print\n%s\nand the page says\n%s", line, got, wants[line])
		}
	}
}

// serveFirstTime starts writd in the folder with further settings, and gives its address.
func serveFirstTime(t *testing.T, folder string, settings ...string) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("writd", "serve") // outlives the context of the test, to be stopped properly
	server.Dir = folder
	server.Env = append(append(os.Environ(), "PORT="+strconv.Itoa(port), "WRIT_DATA_DIR=data"), settings...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("start writd: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("stop writd: %v", err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("writd ends with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), " is ready at ") {
			go func() { _, _ = io.Copy(io.Discard, out) }() // or it would wait for a reader
			return "http://localhost:" + strconv.Itoa(port)
		}
	}
	t.Fatalf("writd ended before it was ready: %v", lines.Err())
	return ""
}

// curl is as much of the program of that name as our pages use, so that testing
// them needs nothing installed: -s, -X, -H, -d and --data-binary, with @FILE.
func curl() {
	if err := curlTo(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

func curlTo(out io.Writer, args []string) error {
	method, url, body := http.MethodGet, "", ""
	named := "" // by -X, which goes before what -d implies
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		value := func() string { i++; return args[i] }
		switch args[i] {
		case "-s":
		case "-X":
			named = value()
		case "-H":
			name, text, _ := strings.Cut(value(), ":")
			header.Set(name, strings.TrimSpace(text))
		case "-d", "--data-binary":
			method, body = http.MethodPost, value()
			if file, ok := strings.CutPrefix(body, "@"); ok {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				body = string(text)
			}
		default:
			url = args[i]
		}
	}
	request, err := http.NewRequest(cmp.Or(named, method), url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(out, response.Body)
	return err
}

// TestEnforcementPageRequests checks that the requests of the page are routes.
func TestEnforcementPageRequests(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../api/testdata/routes.golden")
	if err != nil {
		t.Fatalf("read the routes: %v", err)
	}
	rows := tableRows(t, enforcementPage, "request", "")
	if len(rows) < 15 {
		t.Fatalf("%d requests, want at least 15", len(rows))
	}
	for _, row := range rows {
		request := strings.Join(strings.Fields(strings.Trim(row[0], "`")), ` +`)
		if !regexp.MustCompile(`(?m)^` + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(request) +
			` `).Match(golden) {
			t.Errorf("%s is no route", row[0])
		}
	}
}
