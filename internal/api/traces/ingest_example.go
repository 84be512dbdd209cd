package traces

import "encoding/json"

const exampleTrace = "0199d1c2-8f10-7d6a-a4b5-0e9c3f2b1a77"

// Example is a turn of a coding agent: it asked for a decision, ran a tool and answered.
func (IngestBody) Example() any {
	return json.RawMessage(`{
		"product": "my-agent",
		"sessionId": "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30",
		"batches": [{
			"trace": {
				"id": "` + exampleTrace + `", "sessionId": "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30",
				"name": "iap.plan", "status": "ok", "agentId": "codex",
				"startTime": "2025-10-10T12:00:00Z", "endTime": "2025-10-10T12:00:04.5Z", "durationMs": 4500,
				"attributes": {
					"source": "my-agent-cli", "input": "How large is the build folder?",
					"output": "1 check · 0 blocked"
				},
				"tags": ["my-agent", "Bash", "allowed"]
			},
			"spans": [{
				"id": "0199d1c2-91b0-7f44-8a3d-5be0a9d2c611", "kind": "span", "name": "iap.check", "status": "ok",
				"startTime": "2025-10-10T12:00:00.2Z", "endTime": "2025-10-10T12:00:00.215Z", "durationMs": 15,
				"attributes": {"toolName": "Bash"}
			}, {
				"id": "0199d1c2-91b4-7b02-9d0e-7c2f1a5e4d83", "parentSpanId": "0199d1c2-91b0-7f44-8a3d-5be0a9d2c611",
				"kind": "policy_call", "name": "policy.allow", "status": "ok",
				"startTime": "2025-10-10T12:00:00.205Z", "endTime": "2025-10-10T12:00:00.212Z", "durationMs": 7,
				"attributes": {
					"policyId": "pol-shell", "policyName": "Shell commands", "decision": "allow",
					"matchedRuleId": "read-only"
				}
			}, {
				"id": "0199d1c2-9d77-7e3b-b0c1-64f8e2d97a05", "kind": "generation", "name": "answer", "status": "ok",
				"startTime": "2025-10-10T12:00:01Z", "endTime": "2025-10-10T12:00:04Z",
				"attributes": {
					"model": "claude-sonnet-4-5", "inputTokens": 1200, "outputTokens": 340, "cacheReadTokens": 5000,
					"cacheWriteTokens": 0, "finishReason": "end_turn"
				}
			}]
		}]
	}`)
}

// Example is what the server answers to the example of IngestBody.
func (IngestedBody) Example() any {
	return IngestedBody{Accepted: 1, TraceIDs: []string{exampleTrace}, Rejections: []RejectionBody{}}
}
