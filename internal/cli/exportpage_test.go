package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"writ/internal/telemetry"
)

const exportPage = "../../docs/export.md"

// TestExportPage runs every command of the page on exports.
func TestExportPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, exportPage), 4)
}

// TestExportPageRequests checks that the page has every export of telemetry.
func TestExportPageRequests(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../api/testdata/routes.golden")
	if err != nil {
		t.Fatalf("read the routes: %v", err)
	}
	routes := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^(\w+) +(/organization/\S+/export) `).FindAllSubmatch(golden, -1) {
		routes[string(match[1])+" "+string(match[2])] = true
	}
	if len(routes) != 4 {
		t.Fatalf("%d routes of exports, want 4", len(routes))
	}
	for _, row := range tableRows(t, exportPage, "request", "answer") {
		delete(routes, strings.Trim(row[0], "`"))
	}
	for route := range routes {
		t.Errorf("the page does not name %s", route)
	}
}

const pricesPage = "../../docs/prices.md"

// TestPricesPage runs every command of the page on prices.
func TestPricesPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, pricesPage), 2)
}

// TestPricesPageVendors checks that the page says how every vendor counts.
func TestPricesPageVendors(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	prices := telemetry.BuiltInPrices()
	for _, row := range tableRows(t, pricesPage, "vendor", "input tokens", "of a cache") {
		for _, vendor := range strings.Split(row[0], ", ") {
			vendor = strings.Trim(vendor, "`")
			told[vendor] = true
			if includes := strings.HasPrefix(row[1], "all"); includes != prices.InputIncludesCache(vendor) {
				t.Errorf("%s counts otherwise than the page says", vendor)
			}
		}
	}
	for _, vendor := range prices.Vendors() {
		if !told[vendor] {
			t.Errorf("the page does not say how %s counts", vendor)
		}
	}
}
