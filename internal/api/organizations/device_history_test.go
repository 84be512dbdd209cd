package organizations_test

import (
	"testing"

	"writ/internal/testserver"
)

// Newer plugins ask whether to upload a device's history; null means no.
func TestWireDeviceHistory(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		const path = "/api-keys/device-history-sync?deviceId=laptop-7"
		for name, headers := range map[string][]string{"SDK": w.SDK(), "Claude": w.Claude()} {
			answer := w.Request(t, "GET", path, "", headers...)
			if answer.Status != 200 {
				t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
			}
			testserver.WantTypes(t, name, w.Members(path, answer), map[string]string{
				"requestedAt": "null", "requestId": "null",
			})
		}
		if answer := w.Request(t, "GET", path, ""); answer.Status != 401 {
			t.Errorf("without a key: %d %s", answer.Status, answer.Body)
		}
	})
}
