// Command measure prints the size and shape of the code: make measure, or with the
// folder of another checkout, to compare the two.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"writ/internal/layout"
)

func main() {
	folder := "."
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := measure(folder); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func measure(folder string) error {
	table, floors, err := layout.ReadTable(filepath.Join(folder, "layout_test.go"))
	if err != nil {
		return err
	}
	packages, err := layout.Load(context.Background(), folder)
	if err != nil {
		return err
	}
	_, err = fmt.Print(layout.Measure(table, floors, packages))
	return err
}
