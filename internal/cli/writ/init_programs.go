package writ

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are those that hooks start.
type programs struct{ writ, plan string }

// findPrograms finds writ and writ-plan beside this program, which is writ-client.
func findPrograms() (programs, error) {
	self, err := os.Executable()
	if err != nil {
		return programs{}, fmt.Errorf("find this program: %w", err)
	}
	if actual, err := filepath.EvalSymlinks(self); err == nil {
		self = actual
	}
	p := programs{filepath.Join(filepath.Dir(self), "writ"), filepath.Join(filepath.Dir(self), "writ-plan")}
	for _, path := range []string{p.writ, p.plan} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return p, fmt.Errorf("%s is missing: install writ, writ-client and writ-plan in one folder", path)
		}
	}
	return p, nil
}

// capabilities tries whether commands can be confined here.
func (p programs) capabilities() []string {
	folder, err := os.MkdirTemp("", "writ-confine-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(folder)
	command := exec.Command(p.writ, "run", "--write", folder, "--", "true")
	command.Dir = folder
	if command.Run() != nil {
		return nil
	}
	return []string{"confine"}
}
