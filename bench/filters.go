package main

import (
	"context"
	"errors"
	"net/url"
)

// filter is a list with one filter, as it is asked for over HTTP and as the
// service puts it into SQL.
type filter struct {
	name string
	list string // traces or sessions
	// parameter is what is asked for; with an empty value the value is that of
	// member in some item of the list.
	parameter, value, member string
	where                    string // SQL
}

// filters are the first page of each list with each filter alone, at least 51
// items in the small organization except where a value has fewer by its nature.
var filters = []filter{
	{name: "none", list: "traces"},
	{
		name:      "none, next page",
		list:      "traces",
		parameter: "cursor",
		member:    "nextCursor",
		where:     "(start_time, id) < (0, '')",
	},
	{
		name:      "sessionId",
		list:      "traces",
		parameter: "sessionId",
		member:    "sessionId",
		where:     "session_id = ''",
	},
	{
		name:      "name",
		list:      "traces",
		parameter: "name",
		value:     "plan.07",
		where:     "name = ''",
	},
	{
		name:      "status=error",
		list:      "traces",
		parameter: "status",
		value:     "error",
		where:     "status = 'error'",
	},
	{
		name:      "status=denied",
		list:      "traces",
		parameter: "status",
		value:     "denied",
		where:     "status = 'denied'",
	},
	{
		name:      "userId",
		list:      "traces",
		parameter: "userId",
		member:    "userId",
		where:     "user_id = ''",
	},
	{
		name:      "agentId",
		list:      "traces",
		parameter: "agentId",
		value:     "agent-07",
		where:     "agent_id = ''",
	},
	{
		name:      "minDurationMs=1000",
		list:      "traces",
		parameter: "minDurationMs",
		value:     "1000",
		where:     "duration_ms >= 0 AND duration_class = 10",
	},
	{
		name:      "minDurationMs=90000",
		list:      "traces",
		parameter: "minDurationMs",
		value:     "90000",
		where:     "duration_ms >= 0 AND duration_class = 17",
	},
	{
		name:      "hasError=true",
		list:      "traces",
		parameter: "hasError",
		value:     "true",
		where:     "status IN ('error', 'denied') AND status = 'error'",
	},
	{
		name:      "hasError=false",
		list:      "traces",
		parameter: "hasError",
		value:     "false",
		where:     "status = 'ok'",
	},
	{name: "none", list: "sessions"},
	{
		name:      "status=expired",
		list:      "sessions",
		parameter: "status",
		value:     "expired",
		where:     "state = 'open' AND last_activity_at < 0",
	},
	{
		name:      "userId",
		list:      "sessions",
		parameter: "userId",
		member:    "userId",
		where:     "user_id = ''",
	},
	{
		name:      "agentId",
		list:      "sessions",
		parameter: "agentId",
		value:     "agent-07",
		where:     "agent_id = ''",
	},
}

// path is the list's path with the filter, for an organization.
func (f *filter) path(ctx context.Context, a *account) (string, error) {
	path, value := "/"+f.list, f.value
	if f.parameter == "" {
		return path, nil
	}
	if f.member != "" {
		var page struct {
			Items      []map[string]any `json:"items"`
			NextCursor string           `json:"nextCursor"`
		}
		if err := a.read(ctx, path, &page); err != nil {
			return "", err
		}
		value = page.NextCursor
		if f.member != "nextCursor" && len(page.Items) > 0 {
			value, _ = page.Items[len(page.Items)/2][f.member].(string)
		}
	}
	if value == "" {
		return "", errors.New("no item has a value for it")
	}
	return path + "?" + url.Values{f.parameter: {value}}.Encode(), nil
}
