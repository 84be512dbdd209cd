package config

import (
	"os"
	"runtime"
)

// Exposed is a file of a secret that everybody on this machine can read, with the setting that names it.
type Exposed struct{ Variable, Path string }

// ExposedFiles looks for them in an environment that Load has accepted. Windows keeps its rights elsewhere.
func ExposedFiles(environ []string) (found []Exposed) {
	if runtime.GOOS == "windows" {
		return nil
	}
	r := newReader(environ, os.ReadFile)
	for _, v := range Variables() {
		if !v.Secret || !r.isFromFile(v.Name) {
			continue
		}
		path := r.values[v.Name+fileSuffix]
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o004 != 0 {
			found = append(found, Exposed{r.written(v.Name), path})
		}
	}
	return found
}
