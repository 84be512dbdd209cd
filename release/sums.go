package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeSums writes the checksums of all results, as `sha256sum --check` reads them.
func (r *release) writeSums() error {
	results, err := os.ReadDir(r.out) // in the order of names
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, "SHA256SUMS"), func(w io.Writer) error {
		for _, result := range results {
			if result.Name() == "SHA256SUMS" {
				continue
			}
			hash := sha256.New()
			if err := copyFile(hash, filepath.Join(r.out, result.Name())); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%x  %s\n", hash.Sum(nil), result.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}
