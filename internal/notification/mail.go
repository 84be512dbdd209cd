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
	mailPause   = 10 * time.Minute // between two mails to a person; the second covers all of it
	maxListed   = 20               // requests that a mail names
	mailsAtOnce = 100              // mails of one pass
)

// mailOff are the members of an organization who want no mail.
func mailOff(ctx context.Context, tx *database.Tx, orgID string) ([]string, error) {
	users, err := database.Collect(ctx, tx, database.Column[string],
		`SELECT user_id FROM notification_reader WHERE org_id = $1 AND mail_off = 1`, orgID)
	return users, database.Wrap(err, "read the members without mail")
}

// matter is what a queued mail is about. Requests are stored with when they expire, and what has no expiry with its
// matter in that place.
type matter int64

const (
	aboutProposal matter = 0
	aboutAgent    matter = -1
	aboutKeys     matter = -2
	aboutServer   matter = -3
	aboutRequest  matter = 1 // never stored
)

// matterOf tells what was stored.
func matterOf(expires int64) matter {
	return min(matter(expires), aboutRequest)
}

// expiry is what is stored of an event.
func expiry(e notice.Event) int64 {
	switch e.About.(type) {
	case *notice.Proposal:
		return int64(aboutProposal)
	case *notice.Agent:
		return int64(aboutAgent)
	case *notice.HandedOver:
		return int64(aboutKeys)
	case *notice.Server:
		return int64(aboutServer)
	}
	return database.Micros(e.Request.ExpiresAt)
}

// queueMails adds the subject of an event to the next mail of each person, without
// those who want none.
func queueMails(ctx context.Context, tx *database.Tx, e notice.Event, people []Person, mailOff []string) error {
	var rows [][]any
	expires := expiry(e)
	for _, p := range people {
		if !slices.Contains(mailOff, p.UserID) {
			rows = append(rows, []any{e.OrgID, p.UserID, e.Subject(), e.Title(), expires, database.Micros(tx.Now())})
		}
	}
	err := tx.Insert(ctx, `INSERT INTO notification_mail (org_id, user_id, request_id, title, expires_at, created_at)`,
		rows, `ON CONFLICT (org_id, user_id, request_id) DO NOTHING`)
	return database.Wrap(err, "queue mails about %s", e.Subject())
}

// addressee is a person in an organization to whom a mail is due.
type addressee struct{ orgID, userID string }

// SendMails sends the queued mails to everyone who got none within mailPause.
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
		return fmt.Errorf("find mails that are due: %w", err)
	}
	var problems []error
	for _, a := range due {
		problems = append(problems, s.sendMail(ctx, a))
	}
	return errors.Join(problems...)
}

// line is a request, or another matter, in a mail.
type line struct {
	subjectID, title    string
	about               matter
	expiresAt, queuedAt time.Time // only requests expire
}

// sendMail claims a person's queued mail and sends it. Claimed first, it is never sent
// twice. If sending fails, the mail is lost, and the inbox still has everything.
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
	i := slices.IndexFunc(people, func(p Person) bool { return p.UserID == a.userID })
	if i < 0 || len(lines) == 0 {
		return nil // they have left, or there is nothing
	}
	if err := s.Mail.Send(ctx, composeMail(people[i].Email, s.PublicURL, lines)); err != nil {
		return fmt.Errorf("mail a person about approval requests: %w", err)
	}
	return nil
}

// claimMail takes a person's queued mail, without requests that have expired, and
// begins the pause before the next one.
func claimMail(ctx context.Context, tx *database.Tx, a addressee) ([]line, error) {
	now := tx.Now()
	lines, err := database.Collect(ctx, tx, func(r database.Scanner) (l line, err error) {
		err = r.Scan(&l.subjectID, &l.title, database.ToTime(&l.expiresAt), database.ToTime(&l.queuedAt))
		l.about = matterOf(database.Micros(l.expiresAt))
		return l, err
	}, `
		DELETE FROM notification_mail
		WHERE org_id = $1 AND user_id = $2
		RETURNING request_id, title, expires_at, created_at`, a.orgID, a.userID)
	if err != nil {
		return nil, fmt.Errorf("claim a mail: %w", err)
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.about == aboutRequest && !now.Before(l.expiresAt) })
	if len(lines) == 0 {
		return nil, nil // another replica took it, or everything has expired
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(a.queuedAt.Compare(b.queuedAt), strings.Compare(a.subjectID, b.subjectID))
	})
	_, err = tx.Exec(ctx, `
		INSERT INTO notification_reader (org_id, user_id, mail_off, mailed_at)
		VALUES ($1, $2, 0, $3)
		ON CONFLICT (org_id, user_id) DO UPDATE SET mailed_at = $3`, a.orgID, a.userID, database.Micros(now))
	return lines, database.Wrap(err, "store when a mail was sent")
}

// composeMail writes the mail. Its subject holds nothing that an agent chose; in its
// text titles are single lines.
func composeMail(to, publicURL string, lines []line) mail.Message {
	var text strings.Builder
	for _, l := range lines[:min(len(lines), maxListed)] {
		text.WriteString(l.paragraph(publicURL) + "\n\n")
	}
	if more := len(lines) - maxListed; more > 0 {
		fmt.Fprintf(&text, "And %d more.\n\n", more)
	}
	text.WriteString("Opening a link approves nothing: you sign in and decide there.\n" +
		"You can turn off these e-mails in the dashboard, under Inbox.\n")
	return mail.Message{To: to, Subject: subjectOf(lines), Text: text.String()}
}

// paragraph is the line with what to know of it, and where to open it.
func (l line) paragraph(publicURL string) string {
	switch l.about {
	case aboutProposal:
		return l.title + "\nIt has no effect until somebody confirms it:\n" +
			notice.ProposalLink(publicURL, l.subjectID)
	case aboutAgent:
		if !strings.HasPrefix(l.title, notice.OfAgent) {
			return l.title + ":\n" + notice.AgentLink(publicURL, "")
		}
		return l.title + ":\n" + notice.AgentLink(publicURL, l.subjectID)
	case aboutKeys:
		return l.title + ":\n" + notice.KeysLink(publicURL)
	case aboutServer:
		return l.title + "\n" + notice.ServerLink(publicURL, l.subjectID)
	}
	return fmt.Sprintf("%s\nDenied unless somebody answers by %s:\n%s", l.title,
		l.expiresAt.UTC().Format("15:04 UTC on 2 January 2006"), notice.Link(publicURL, l.subjectID))
}

// subjectOf says how much needs an answer.
func subjectOf(lines []line) string {
	count := map[matter]int{}
	for _, l := range lines {
		count[l.about]++
	}
	proposals, agents := count[aboutProposal], count[aboutAgent]
	switch {
	case count[aboutKeys] == len(lines):
		return "API keys were handed over to you on Writ"
	case count[aboutKeys] > 0:
		return fmt.Sprintf("%d things need your attention on Writ, API keys among them", len(lines))
	case count[aboutServer] == len(lines):
		return "Tools of an MCP server are held on Writ"
	case count[aboutServer] > 0:
		return fmt.Sprintf("%d things need your attention on Writ, tools of MCP servers among them", len(lines))
	}
	switch requests := count[aboutRequest]; {
	case requests+proposals == 0 && agents == 1:
		return "Something happened to an agent on Writ"
	case requests+proposals == 0:
		return fmt.Sprintf("Something happened to %d agents on Writ", agents)
	case agents > 0:
		return fmt.Sprintf("%d requests, profiles and agents on Writ", len(lines))
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
