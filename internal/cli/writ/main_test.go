package writ_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain gives the tests a home of their own: whoever runs them may be signed
// in somewhere.
func TestMain(m *testing.M) { os.Exit(inOwnHome(m)) }

func inOwnHome(m *testing.M) int {
	home, err := os.MkdirTemp("", "writ-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "WRIT_URL": "", "WRIT_API_KEY": "", "WRIT_ACCESS_TOKEN": "",
		"BROWSER": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
