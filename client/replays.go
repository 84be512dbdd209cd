package client

import (
	"context"
	"time"
)

// Replay is a trial of a draft on recorded calls; it has a Report once it is done.
type Replay struct {
	ID            string        `json:"id"`
	State         string        `json:"state"` // waiting, running, done, cancelled, broken
	Name          string        `json:"name"`
	PolicyID      *string       `json:"policyId"`
	PolicyVersion *int          `json:"policyVersion"`
	Digest        string        `json:"digest"`
	Without       []string      `json:"without"`
	Days          int           `json:"days"`
	From          time.Time     `json:"from"`
	Until         time.Time     `json:"until"`
	StartedBy     Author        `json:"startedBy"`
	StartedAt     time.Time     `json:"startedAt"`
	EndedAt       *time.Time    `json:"endedAt"`
	Done          int64         `json:"done"`
	Total         int64         `json:"total"`
	Problem       string        `json:"problem"`
	Report        *ReplayReport `json:"report"`
}

// ReplayReport is the result of a replay.
type ReplayReport struct {
	Counts struct {
		Decisions int64            `json:"decisions"`
		Judged    int64            `json:"judged"`
		Intent    int64            `json:"intent"`
		Agent     int64            `json:"agent"`
		Failed    int64            `json:"failed"`
		Erased    int64            `json:"erased"`
		Redacted  int64            `json:"redacted"`
		NotKept   int64            `json:"notKept"`
		Recorded  map[string]int64 `json:"recorded"`
		Today     map[string]int64 `json:"today"`
		Drafted   map[string]int64 `json:"drafted"`
		Stricter  int64            `json:"stricter"`
		Looser    int64            `json:"looser"`
		Unchanged int64            `json:"unchanged"`
		Unknown   int64            `json:"unknown"`
	} `json:"counts"`
	Changes []ReplayChange `json:"changes"`
	LeftOut int64          `json:"leftOut"`
}

// ReplayChange is a group of calls whose decision changes.
type ReplayChange struct {
	Agent         string    `json:"agent"`
	Server        string    `json:"server"`
	Tool          string    `json:"tool"`
	Recorded      string    `json:"recorded"`
	Today         string    `json:"today"`
	Drafted       string    `json:"drafted"`
	PolicyID      string    `json:"policyId"`
	PolicyVersion int       `json:"policyVersion"`
	Rule          string    `json:"rule"`
	Count         int64     `json:"count"`
	First         time.Time `json:"first"`
	Last          time.Time `json:"last"`
	Examples      []struct {
		DecisionID string    `json:"decisionId"`
		Index      int64     `json:"index"`
		At         time.Time `json:"at"`
	} `json:"examples"`
}

// NewReplay is a draft to try: a version of a policy, a document instead of the
// active version of a policy, or a document beside all active policies.
type NewReplay struct {
	PolicyID      string   `json:"policyId,omitempty"`
	PolicyVersion int      `json:"policyVersion,omitempty"`
	YAML          string   `json:"yaml,omitempty"`
	Without       []string `json:"without,omitempty"` // ids of active policies to be left out
	Days          int      `json:"days,omitempty"`
}

const replayPath = "/policy-replays"

// StartReplay starts a replay. An organization has one under way at most.
func (c *Client) StartReplay(ctx context.Context, orgID string, r NewReplay) (Replay, error) {
	return post[Replay](ctx, c, replayPath, inOrg(orgID), r)
}

// Replays lists the stored replays, newest first, without their reports.
func (c *Client) Replays(ctx context.Context, orgID string) ([]Replay, error) {
	return list[Replay](ctx, c, replayPath, inOrg(orgID))
}

// Replay reads a replay, with its report if it is done.
func (c *Client) Replay(ctx context.Context, orgID, id string) (Replay, error) {
	return get[Replay](ctx, c, replayPath+"/"+segment(id), inOrg(orgID))
}

// CancelReplay cancels a replay that is under way.
func (c *Client) CancelReplay(ctx context.Context, orgID, id string) (Replay, error) {
	return post[Replay](ctx, c, replayPath+"/"+segment(id)+"/cancel", inOrg(orgID), nil)
}
