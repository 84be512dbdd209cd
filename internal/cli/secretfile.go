package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxSecretFile bounds what is read of a file with a secret.
const maxSecretFile = 64 << 10

// SecretOf reads the secret in the file that a flag names, of which holds says what it is; - is standard input. No
// error tells the name or the content: people give the secret itself where the name belongs, and what is printed is
// kept by terminals and CI.
func SecretOf(in io.Reader, flag, holds, name string) (string, error) {
	text, err := readSecret(in, name)
	if err != nil {
		return "", fmt.Errorf("--%s names a file that holds %s, or - for standard input: %w", flag, holds, err)
	}
	return text, nil
}

func readSecret(in io.Reader, name string) (string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", withoutName(err)
		}
		defer file.Close()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, maxSecretFile+1))
	text := strings.TrimSpace(string(content))
	switch {
	case err != nil:
		return "", withoutName(err)
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("what it names is larger than %d bytes", maxSecretFile)
	case text == "" && name == "-":
		return "", errors.New("standard input is empty")
	case text == "":
		return "", errors.New("the file is empty")
	}
	return text, nil
}

// withoutName is what failed with a file, without which file.
func withoutName(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
