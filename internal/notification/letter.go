package notification

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/mail"
	"writ/internal/notification/notice"
)

const (
	// mailPause is how long after one mail a person gets the next: what happens
	// meanwhile is in it together.
	mailPause = 10 * time.Minute
	// maxListed is how many requests a mail names.
	maxListed = 20
	// mailsAtOnce is how many people one pass writes to.
	mailsAtOnce = 100
)

// mailOff are the members of an organization who want no mail.
func mailOff(ctx context.Context, tx *database.Tx, orgID string) (map[string]bool, error) {
	users, err := database.Collect(ctx, tx, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `SELECT user_id FROM notification_reader WHERE org_id = $1 AND mail_off = 1`, orgID)
	if err != nil {
		return nil, fmt.Errorf("read who wants no mail: %w", err)
	}
	off := map[string]bool{}
	for _, id := range users {
		off[id] = true
	}
	return off, nil
}

// neverExpires is when what waits for a person until they answer expires: a request
// does in time, a proposal of a profile does not.
const neverExpires = 0

// queueMails puts what an event is about into the next mail of those whose answer it
// wants.
func queueMails(ctx context.Context, tx *database.Tx, e notice.Event, people []Person, unmailed map[string]bool) error {
	var rows [][]any
	expires := int64(neverExpires)
	if e.Proposal == nil {
		expires = database.Micros(e.Request.ExpiresAt)
	}
	for _, p := range people {
		if !unmailed[p.UserID] {
			rows = append(rows, []any{e.OrgID, p.UserID, e.Subject(), e.Title(), expires, database.Micros(tx.Now())})
		}
	}
	err := tx.Insert(ctx, `INSERT INTO notification_mail (org_id, user_id, request_id, title, expires_at, created_at)`,
		rows,
		`ON CONFLICT (org_id, user_id, request_id) DO NOTHING`)
	if err != nil {
		return fmt.Errorf("queue mails about %s: %w", e.Subject(), err)
	}
	return nil
}

// addressee is a person in an organization to whom a mail is due.
type addressee struct{ orgID, userID string }

// SendMails writes to everybody for whom something waits and who got no mail for a
// while.
func (s *Service) SendMails(ctx context.Context) error {
	if s.Mail == nil {
		return nil
	}
	due, err := database.Collect(ctx, s.db, func(r database.Scanner) (a addressee, err error) {
		err = r.Scan(&a.orgID, &a.userID)
		return a, err
	}, `
		SELECT DISTINCT m.org_id, m.user_id
		FROM notification_mail m
		LEFT JOIN notification_reader r ON r.org_id = m.org_id AND r.user_id = m.user_id
		WHERE COALESCE(r.mailed_at, 0) <= $1
		ORDER BY m.org_id, m.user_id
		LIMIT $2`, database.Micros(s.db.Now().Add(-mailPause)), mailsAtOnce)
	if err != nil {
		return fmt.Errorf("look for mails that are due: %w", err)
	}
	var problems []error
	for _, a := range due {
		problems = append(problems, s.sendMail(ctx, a))
	}
	return errors.Join(problems...)
}

// line is a request, or a proposal, in a mail.
type line struct {
	subjectID, title    string
	proposal            bool
	expiresAt, queuedAt time.Time
}

// sendMail claims what waits for a person and writes to them. Claimed first, it is
// never sent twice; a mail that cannot be queued then is lost, and the inbox has it.
func (s *Service) sendMail(ctx context.Context, a addressee) error {
	people, err := s.Sources.People(ctx, a.orgID)
	if err != nil {
		return err
	}
	var lines []line
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
		lines, err = claimMail(ctx, tx, a)
		return err
	}})
	if err != nil {
		return err
	}
	for _, p := range people { // who left meanwhile is told nothing
		if p.UserID == a.userID && len(lines) > 0 {
			if err := s.Mail.Send(ctx, letter(p.Email, s.PublicURL, lines)); err != nil {
				return fmt.Errorf("write to a person that requests wait: %w", err)
			}
		}
	}
	return nil
}

// claimMail takes what waits for a person, without what nobody can answer any more,
// and begins the pause before the next mail.
func claimMail(ctx context.Context, tx *database.Tx, a addressee) ([]line, error) {
	now := tx.Now()
	lines, err := database.Collect(ctx, tx, func(r database.Scanner) (l line, err error) {
		var expires, queued int64
		err = r.Scan(&l.subjectID, &l.title, &expires, &queued)
		l.proposal, l.expiresAt, l.queuedAt = expires == neverExpires, database.Time(expires), database.Time(queued)
		return l, err
	}, `
		DELETE FROM notification_mail
		WHERE org_id = $1 AND user_id = $2
		RETURNING request_id, title, expires_at, created_at`, a.orgID, a.userID)
	if err != nil {
		return nil, fmt.Errorf("claim a mail: %w", err)
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return !l.proposal && !now.Before(l.expiresAt) })
	if len(lines) == 0 {
		return nil, nil // another replica has it, or it is too late
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(a.queuedAt.Compare(b.queuedAt), strings.Compare(a.subjectID, b.subjectID))
	})
	_, err = tx.Exec(ctx, `
		INSERT INTO notification_reader (org_id, user_id, mail_off, mailed_at)
		VALUES ($1, $2, 0, $3)
		ON CONFLICT (org_id, user_id) DO UPDATE SET mailed_at = $3`, a.orgID, a.userID, database.Micros(now))
	if err != nil {
		return nil, fmt.Errorf("remember that a mail was sent: %w", err)
	}
	return lines, nil
}

// letter is the mail. Nothing that an agent chose is in its subject; in its text
// titles are single lines.
func letter(to, publicURL string, lines []line) mail.Message {
	var text strings.Builder
	for _, l := range lines[:min(len(lines), maxListed)] {
		if l.proposal {
			fmt.Fprintf(&text, "%s\nIt counts for nothing unless somebody confirms it:\n%s\n\n", l.title,
				notice.ProposalLink(publicURL, l.subjectID))
			continue
		}
		fmt.Fprintf(&text, "%s\nDenied unless somebody answers by %s:\n%s\n\n", l.title,
			l.expiresAt.UTC().Format("15:04 UTC on 2 January 2006"), notice.Link(publicURL, l.subjectID))
	}
	if more := len(lines) - maxListed; more > 0 {
		fmt.Fprintf(&text, "And %d more.\n\n", more)
	}
	text.WriteString("A link opens what waits; nothing is approved before you have signed in and said so.\n" +
		"You can turn these mails off under notifications in the application.\n")
	return mail.Message{To: to, Subject: subjectOf(lines), Text: text.String()}
}

// subjectOf says what waits.
func subjectOf(lines []line) string {
	proposals := 0
	for _, l := range lines {
		if l.proposal {
			proposals++
		}
	}
	switch requests := len(lines) - proposals; {
	case proposals == 1 && requests == 0:
		return "A profile waits for your confirmation on Writ"
	case requests == 0:
		return fmt.Sprintf("%d profiles wait for your confirmation on Writ", proposals)
	case requests == 1 && proposals == 0:
		return "A request waits for your approval on Writ"
	case proposals == 0:
		return fmt.Sprintf("%d requests wait for your approval on Writ", requests)
	default:
		return fmt.Sprintf("%d requests and profiles wait for your answer on Writ", len(lines))
	}
}
