package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// TestDeployedMetricsExist checks that the dashboard and the alert rules of deploy ask for
// nothing that a server does not serve: such a panel stays empty, and such an alert never fires.
func TestDeployedMetricsExist(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_METRICS_TOKEN", testserver.MetricsToken,
		"WRIT_WITNESS_FILE", filepath.Join(t.TempDir(), "checkpoints"))
	s.Request(t, "GET", "/health", "") // requests are counted once there are some
	answer := s.Request(t, "GET", "/metrics", "", "Authorization", "Bearer "+testserver.MetricsToken)
	if answer.Status != http.StatusOK {
		t.Fatalf("status %d", answer.Status)
	}
	served := map[string]bool{"up": true} // that one is Prometheus' own
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(string(answer.Body), -1) {
		served[line[1]] = true
		if line[2] == "histogram" {
			served[line[1]+"_bucket"], served[line[1]+"_sum"], served[line[1]+"_count"] = true, true, true
		}
	}
	for _, file := range []string{"prometheus/alerts.yaml", "grafana/writ.json"} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", file)
		}
		names := regexp.MustCompile(`\b(writ|process|go)_[a-z_]+`).FindAllString(string(text), -1)
		if len(names) < 10 {
			t.Errorf("%s names %d metrics", file, len(names))
		}
		for _, name := range names {
			if !served[name] {
				t.Errorf("%s asks for %s, which no server serves", file, name)
			}
		}
	}
}
