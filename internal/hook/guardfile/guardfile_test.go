package guardfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/hook/guardfile"
)

const good = `{"version":1,"server":"https://writ.test/base","key":"ak_live_secret","organization":"o",` +
	`"agent":"gemini-cli","host":"gemini","manifest":"","mode":"enforce","approvalWaitSeconds":60,"carryPlan":false,` +
	`"stateDir":"/srv/state","writ":"/opt/writ/writ","planServer":"/opt/writ/writ-plan","capabilities":["confine"],` +
	`"protected":["/srv/more"]}`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guard.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := write(t, good)
	f, err := guardfile.Read(path)
	if err != nil || f.Server != "https://writ.test/base" || f.Wait().Seconds() != 60 || f.Path() != path {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{`"version":1`, `"version":2`, "version"},
		{`"mode":"enforce"`, `"mode":"off"`, "mode"},
		{`"mode":"enforce"`, `"mode":"enforce","fallback":"allow"`, "members of a guard file"},
		{`"mode":"enforce",`, ``, "mode"},
		{`"host":"gemini"`, `"host":"claude"`, "host"},
		{`"https://writ.test/base"`, `"ftp://writ.test"`, "server"},
		{`"https://writ.test/base"`, `"https://"`, "server"},
		{`"https://writ.test/base"`, `"https://ak_live_secret@writ.test"`, "server"},
		{`"https://writ.test/base"`, `"https://writ.test\r\nX: y"`, "server"},
		{`"https://writ.test/base"`, `null`, "server"},
		{`"ak_live_secret"`, `""`, "key"},
		{`"ak_live_secret"`, `"ak_live_secret\r\nX: y"`, "key"},
		{`"agent":"gemini-cli"`, `"agent":""`, "agent"},
		{`:60`, `:601`, "approvalWaitSeconds"},
		{`:60`, `:-1`, "approvalWaitSeconds"},
		{`"/srv/state"`, `"state"`, "stateDir"},
		{`"/opt/writ/writ"`, `"writ"`, "writ"},
		{`"/opt/writ/writ-plan"`, `""`, "planServer"},
		{`"/srv/more"`, `"more"`, "protected"},
		{`"manifest":""`, `"manifest":"agent.yaml"`, "manifest"},
		{good, good + good, "behind"},
		{good, "", "no JSON object"},
		{good, "null", "version"},
		{good, good[:40], "no JSON object"},
		{good, strings.Repeat(" ", 65<<10) + good, "more than 64 KiB"},
	} {
		_, err := guardfile.Read(write(t, strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "ak_live_secret") {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}

func TestReadRefusesFilesOfOthers(t *testing.T) {
	t.Parallel()
	open := write(t, good)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "guard.json")
	if err := os.Symlink(write(t, good), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		open: "chmod 600", link: "no link", t.TempDir(): "must be a file", "/no/such": "cannot be found",
		"guard.json": "must be absolute",
	} {
		if _, err := guardfile.Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
