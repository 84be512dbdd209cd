package doctor_test

import (
	"os"
	"strings"
	"testing"

	"writ/internal/hook/doctor"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
)

// TestMonitored: a host whose calls are only monitored is not guarded, and is told from one whose hooks do not run.
func TestMonitored(t *testing.T) {
	t.Parallel()
	p := newWard(t).admit(t)
	examine := func(want bool) {
		t.Helper()
		for name, findings := range map[string][]doctor.Finding{
			"Examine": doctor.Examine(t.Context(), p.Machine), "Guarded": doctor.Guarded(t.Context(), p.Machine, ""),
		} {
			if doctor.IsMonitored(findings) != want {
				t.Errorf("%s: monitored is %v: %+v", name, !want, findings)
			}
		}
	}
	examine(false) // it is guarded
	p.install(func(f *guardfile.File) { f.Mode = guardfile.Monitor })
	examine(true)
	p.write("project/.gemini/settings.json", `{"hooksConfig":{"enabled":false}}`, 0o644)
	examine(false) // nobody watches
}

// TestNothingInstalled: where nothing of Writ is there, nothing is said about what it would do.
func TestNothingInstalled(t *testing.T) {
	t.Parallel()
	p := newWard(t).admit(t)
	p.env["GEMINI_CLI_TRUST_WORKSPACE"] = "" // of which the doctor would speak
	settings := p.text(p.Settings())
	if _, err := install.Uninstall(p.Places); err != nil {
		t.Fatal(err)
	}
	findings := doctor.Guarded(t.Context(), p.Machine, "")
	if len(findings) != 1 || findings[0].State != doctor.Failed ||
		!strings.Contains(findings[0].Text, "nothing of Writ is installed here") {
		t.Errorf("%+v", findings)
	}
	for name, leave := range map[string]func(){
		"hooks":     func() { p.write(p.Settings(), settings, 0o600) },
		"extension": func() { p.must(os.MkdirAll(p.Extension(), 0o700)) },
		"broken":    func() { p.write(p.Settings(), "{", 0o600) },
	} {
		p.must(os.RemoveAll(p.Settings()))
		p.must(os.RemoveAll(p.Extension()))
		leave()
		findings := doctor.Guarded(t.Context(), p.Machine, "")
		if len(findings) < 2 || findings[0].State != doctor.Failed {
			t.Errorf("with %s left: %+v", name, findings)
		}
	}
}
