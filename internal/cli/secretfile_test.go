package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/cli"
)

// TestSecretsInPlaceOfFiles are not printed, whatever is wrong with the file that they are taken for.
func TestSecretsInPlaceOfFiles(t *testing.T) {
	t.Parallel()
	const secret = "eyJhbGciOiJFZERTQSJ9"
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	held := file("held", secret+"\n")
	for name, in := range map[string]string{held: "", "-": secret} {
		if got, err := cli.SecretOf(strings.NewReader(in), "token", "the token", name); err != nil || got != secret {
			t.Errorf("%s: %v", name, err)
		}
	}
	const said = "--token names a file that holds the token, or - for standard input: "
	for name, want := range map[string]string{
		secret:                           "no such file or directory",
		strings.Repeat(secret, 100):      "file name too long",
		secret + "\x00":                  "invalid argument",
		file(secret+"-empty", ""):        "the file is empty",
		file(secret+"-large", large(70)): "what it names is larger than 65536 bytes",
		folder:                           "is a directory",
		"-":                              "standard input is empty",
	} {
		_, err := cli.SecretOf(strings.NewReader(" \n"), "token", "the token", name)
		if err == nil || err.Error() != said+want {
			t.Errorf("%.40s: %v, want %s", name, err, want)
		}
	}
}

// large is a text of so many kilobytes.
func large(kilobytes int) string { return strings.Repeat("x", kilobytes<<10) }
