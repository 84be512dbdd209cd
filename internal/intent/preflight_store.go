package intent

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

// PreflightFilter chooses preflights. An empty member does not narrow.
type PreflightFilter struct {
	From, Until time.Time
	Agent, Tool string
	// Outcome is one of the outcomes, or PreflightErased.
	Outcome string
}

// PreflightErased is the outcome of a preflight whose payload was erased.
const PreflightErased = "erased"

// PreflightRow is a preflight as it is found.
type PreflightRow struct {
	Index int64 // of its entry in the organization's log
	At    time.Time
}

// PreflightCount counts preflights with the same agent and outcome in an hour.
type PreflightCount struct {
	Hour    time.Time
	Agent   string
	Outcome string
	Count   int64
}

func (f *PreflightFilter) where(orgID string) database.Where {
	w := database.Where{}
	w.And(`p.org_id = ?`, orgID)
	if !f.From.IsZero() {
		w.And(`p.recorded_at >= ?`, database.Micros(f.From))
	}
	if !f.Until.IsZero() {
		w.And(`p.recorded_at < ?`, database.Micros(f.Until))
	}
	if f.Agent != "" {
		w.And(`p.agent_id = ?`, f.Agent)
	}
	if f.Tool != "" {
		w.And(`EXISTS (SELECT 1 FROM preflight_tool t WHERE t.org_id = p.org_id AND t.position = p.position AND t.tool = ?)`,
			f.Tool)
	}
	switch f.Outcome {
	case "":
	case PreflightErased:
		w.And(`p.outcome = ''`)
	default:
		w.And(`p.outcome = ?`, f.Outcome)
	}
	return w
}

// Preflights finds preflights of an organization, newest first. It checks no right.
func (s *Service) Preflights(
	ctx context.Context, orgID string, f PreflightFilter, cursor string, limit int,
) (page.Page[PreflightRow], error) {
	if !storable(f.Agent) || !storable(f.Tool) {
		return page.Of[PreflightRow](nil, limit, nil), nil
	}
	after, err := page.Decode(cursor, preflightList, orgID)
	if err != nil {
		return page.Page[PreflightRow]{}, err
	}
	w := f.where(orgID)
	if !after.IsZero() {
		position, err := strconv.ParseInt(after.ID, 10, 64)
		if err != nil {
			return page.Page[PreflightRow]{}, fault.New(fault.Invalid, "Invalid cursor")
		}
		w.And(`(p.recorded_at, p.position) < (?, ?)`, after.Micros, position)
	}
	rows, err := database.Collect(ctx, s.db, func(row database.Scanner) (p PreflightRow, err error) {
		err = row.Scan(&p.Index, database.ToTime(&p.At))
		return p, err
	}, `SELECT p.position, p.recorded_at FROM preflight p`+w.String()+
		` ORDER BY p.recorded_at DESC, p.position DESC LIMIT `+w.Bind(limit+1), w.Args...)
	if err != nil {
		return page.Page[PreflightRow]{}, fmt.Errorf("list preflights: %w", err)
	}
	return page.Of(rows, limit, func(p PreflightRow) page.Cursor {
		return page.Cursor{
			List: preflightList, Scope: orgID, Micros: database.Micros(p.At), ID: strconv.FormatInt(p.Index, 10),
		}
	}), nil
}

const preflightList = "preflights"

// CountPreflights counts all preflights that fit, by hour, agent and outcome. It checks no right.
func (s *Service) CountPreflights(ctx context.Context, orgID string, f PreflightFilter) ([]PreflightCount, error) {
	if !storable(f.Agent) || !storable(f.Tool) {
		return nil, nil
	}
	w := f.where(orgID)
	counts, err := database.Collect(ctx, s.db, func(row database.Scanner) (c PreflightCount, err error) {
		var hour int64
		err = row.Scan(&hour, &c.Agent, &c.Outcome, &c.Count)
		c.Hour = database.Time(hour * time.Hour.Microseconds())
		if c.Outcome == "" {
			c.Outcome = PreflightErased
		}
		return c, err
	}, `SELECT p.recorded_at / 3600000000, p.agent_id, p.outcome, COUNT(*) FROM preflight p`+w.String()+`
		GROUP BY 1, p.agent_id, p.outcome
		ORDER BY 1, p.agent_id, p.outcome`, w.Args...)
	return counts, database.Wrap(err, "count preflights")
}

// storable reports whether a text can be in the database at all.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

func insertPreflight(ctx context.Context, tx *database.Tx, orgID string, index int64, f *Preflight) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO preflight (org_id, position, recorded_at, agent_id, outcome)
		VALUES ($1, $2, $3, $4, $5)`, orgID, index, database.Micros(tx.Now()), f.AgentID, f.Outcome)
	if err != nil {
		return fmt.Errorf("store a preflight: %w", err)
	}
	known := map[PreflightTool]bool{}
	var rows [][]any
	for _, t := range f.Tools {
		if name := (PreflightTool{Server: t.Server, Tool: t.Tool}); !known[name] {
			known[name] = true
			rows = append(rows, []any{orgID, index, t.Server, t.Tool})
		}
	}
	err = tx.Insert(ctx, `INSERT INTO preflight_tool (org_id, position, server, tool)`, rows, ``)
	return database.Wrap(err, "store the tools of a preflight")
}

// erasePreflights erases what preflights at some positions are found by.
func erasePreflights(ctx context.Context, tx *database.Tx, orgID string, positions []int64) error {
	for _, position := range positions {
		changed, err := tx.Exec(ctx,
			`UPDATE preflight SET agent_id = '', outcome = '' WHERE org_id = $1 AND position = $2`,
			orgID, position)
		if err == nil && changed > 0 {
			_, err = tx.Exec(ctx, `DELETE FROM preflight_tool WHERE org_id = $1 AND position = $2`, orgID, position)
		}
		if err != nil {
			return fmt.Errorf("erase a preflight: %w", err)
		}
	}
	return nil
}
