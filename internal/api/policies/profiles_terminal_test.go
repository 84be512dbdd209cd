package policies_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestWhatInstallersSendWithTheKeyOfADeviceLogin plays the flow of the published installers: they sign in by device
// code, and the plugin that they set up stages and proposes a profile with that key. The page of the sign-in names that
// right; the key does no more with policies.
func TestWhatInstallersSendWithTheKeyOfADeviceLogin(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		w.activeDocument("version: v1\nname: all\ndefault: allow\nrules: []\n")
		for _, org := range []string{w.Org, w.Organization(w.Owner, "Other")} {
			key := w.keyOfDeviceLogin(t, org)
			if org != w.Org { // as the command line does by switch-org
				answer := w.Request(t, "POST", "/iap/sdk/switch-org", fmt.Sprintf(`{"org":%q}`, w.Org),
					testserver.Credentials(key)...)
				key = w.Public.WithKey(fmt.Sprint(w.Members("switch-org", answer)["api_key"]))
			}
			w.exchanged([]string{
				"Authorization", "Bearer " + key.APIKey, "X-ArmorIQ-Client", "armorgemini/0.3.0", "Accept",
				"application/json",
			},
				exchange{"GET", "/policies/profiles/active", "", http.StatusOK, `"policy":null`},
				exchange{
					"PUT", "/policies/profiles/draft", fmt.Sprintf(`{"policy":%s,"orgId":%q}`, geminiProfile, w.Org),
					http.StatusOK, `"hash"`,
				},
				exchange{
					"POST", "/policies/profiles/propose",
					fmt.Sprintf(`{"reason":"Staged via /armor:add deny web_fetch (no exfil)","orgId":%q}`, w.Org),
					http.StatusCreated, `"state":"open"`,
				},
				exchange{"POST", "/policies/profiles/confirm", `{}`, http.StatusUnauthorized, ""},
				exchange{"GET", "/policies/profiles/proposals", "", http.StatusForbidden, "policy.draft"},
				exchange{"GET", "/policies", "", http.StatusForbidden, "policy.draft"},
				exchange{"POST", "/policies", `{}`, http.StatusForbidden, "policy.draft"},
				exchange{"POST", "/policies/simulate", `{}`, http.StatusForbidden, "policy.draft"},
			)
		}
		w.confirmsTheOpen()
	})
}

// keyOfDeviceLogin is the key that a published command line gets.
func (w *staging) keyOfDeviceLogin(t *testing.T, org string) *client.Client {
	t.Helper()
	code := w.StartDevice(client.DeviceStart{Product: "gemini"})
	shown, err := w.Owner.FindDevice(t.Context(), code.UserCode)
	if err != nil || !slices.Contains(shown.Scopes, "profile.propose") {
		t.Errorf("the page shows the scopes %v, %v, want profile.propose among them", shown.Scopes, err)
	}
	if err := w.Owner.ApproveDevice(t.Context(), client.DeviceApproval{
		UserCode: code.UserCode, OrganizationID: org,
	}); err != nil {
		t.Fatal(err)
	}
	grant, err := w.Public.PollDevice(t.Context(), code.DeviceCode, "")
	if err != nil {
		t.Fatal(err)
	}
	return w.Public.WithKey(grant.APIKey)
}
