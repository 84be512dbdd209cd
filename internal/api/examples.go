package api

// example is a turn of a coding agent: it asked a policy, ran a tool and answered.
func (IngestBody) Example() any {
	text := func(s string) *string { return &s }
	number := func(n int64) *int64 { return &n }
	const session, check = "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "0199d1c2-91b0-7f44-8a3d-5be0a9d2c611"
	return IngestBody{
		Product:   "my-agent",
		SessionID: text(session),
		Batches: []BatchBody{{
			Trace: TraceInput{
				ID:         exampleTrace,
				SessionID:  text(session),
				Name:       "iap.plan",
				StartTime:  "2025-10-10T12:00:00Z",
				EndTime:    text("2025-10-10T12:00:04.5Z"),
				DurationMs: number(4500),
				Status:     "ok",
				AgentID:    "codex",
				Tags:       []string{"my-agent", "Bash", "allowed"},
				Attributes: map[string]any{
					"source": "my-agent-cli",
					"input":  "How large is the build folder?",
					"output": "1 check · 0 blocked",
				},
			},
			Spans: []SpanInput{
				{
					ID:         check,
					Kind:       "span",
					Name:       "iap.check",
					StartTime:  "2025-10-10T12:00:00.2Z",
					EndTime:    text("2025-10-10T12:00:00.215Z"),
					DurationMs: number(15),
					Status:     "ok",
					Attributes: map[string]any{"toolName": "Bash"},
				},
				{
					ID: "0199d1c2-91b4-7b02-9d0e-7c2f1a5e4d83", ParentSpanID: text(check), Kind: "policy_call",
					Name:      "policy.allow",
					StartTime: "2025-10-10T12:00:00.205Z", EndTime: text("2025-10-10T12:00:00.212Z"),
					DurationMs: number(7), Status: "ok",
					Attributes: map[string]any{
						"policyId":      "pol-shell",
						"policyName":    "Shell commands",
						"decision":      "allow",
						"matchedRuleId": "read-only",
					},
				},
				{
					ID:        "0199d1c2-9d77-7e3b-b0c1-64f8e2d97a05",
					Kind:      "generation",
					Name:      "answer",
					StartTime: "2025-10-10T12:00:01Z",
					EndTime:   text("2025-10-10T12:00:04Z"),
					Status:    "ok",
					Attributes: map[string]any{
						"model":            "claude-sonnet-4-5",
						"inputTokens":      1200,
						"outputTokens":     340,
						"cacheReadTokens":  5000,
						"cacheWriteTokens": 0,
						"finishReason":     "end_turn",
					},
				},
			},
		}},
	}
}

// exampleTrace is the trace of the example.
const exampleTrace = "0199d1c2-8f10-7d6a-a4b5-0e9c3f2b1a77"

// example is what the server answers to the example of IngestBody.
func (IngestedBody) Example() any {
	return IngestedBody{Accepted: 1, TraceIDs: []string{exampleTrace}, Rejections: []RejectionBody{}}
}
