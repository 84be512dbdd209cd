package approvals

import (
	"net/http"

	"writ/internal/api/route"
)

// examples are bodies for the document, by method and path. A test sends
// each of them, with the id of a pending request.
var examples = map[string]map[string]any{
	http.MethodPost: {
		"/delegation/request": map[string]any{
			"tool": "pay", "action": "pay", "domain": "bank",
			"arguments": map[string]any{"to": "landlord", "amount": 5000}, "amount": 5000,
			"requesterEmail": "ada@example.org", "reason": "the rent of May",
		},
		"/delegation/preview": map[string]any{
			"approvalId": exampleApproval, "scope": map[string]any{"kind": "minutes", "minutes": 30, "uses": 5},
		},
		"/delegation/approve": map[string]any{
			"approvalId": exampleApproval, "note": "rents until the end of the day", "scope": map[string]any{
				"kind": "pattern", "minutes": 240, "uses": 10,
				"pattern": map[string]any{
					"to": map[string]any{"equals": "landlord"}, "amount": map[string]any{"max": 6000},
				},
			},
		},
		"/delegation/reject":        map[string]any{"approvalId": exampleApproval, "note": "paid already"},
		"/delegation/cancel":        map[string]any{"approvalId": exampleApproval},
		"/delegation/mark-executed": map[string]any{"approvalId": exampleApproval},
	},
	http.MethodPut: {
		"/delegation/settings": ApprovalSettingsBody{PendingSeconds: 1800, GrantSeconds: 600},
	},
}

const exampleApproval = "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"

// documentExamples puts the examples into the OpenAPI document.
func documentExamples(r *route.Router) {
	paths := r.OpenAPI().Paths
	for path, example := range examples[http.MethodPost] {
		paths[path].Post.RequestBody.Content[route.JSONType].Example = example
	}
	for path, example := range examples[http.MethodPut] {
		paths[path].Put.RequestBody.Content[route.JSONType].Example = example
	}
}
