package risk_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/approval/risk"
)

// TestPage keeps the page of reasons and their points as they are.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/approval-risk.md")
	if err != nil {
		t.Fatal(err)
	}
	var told, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) \\|").FindAllStringSubmatch(string(page), -1) {
		told = append(told, row[1]+" "+row[2])
	}
	for _, code := range risk.Codes() {
		want = append(want, fmt.Sprintf("%s %d", code, risk.Weigh([]string{code}).Score))
	}
	slices.Sort(told)
	slices.Sort(want)
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("docs/approval-risk.md (-want +got):\n%s", diff)
	}
}
