package document

import (
	"regexp"
	"strings"

	"writ/internal/node"
	"writ/internal/verdict"
)

// DefaultRule names a policy's default where a rule's id is expected. No rule may
// have this id.
const DefaultRule = "default"

var ruleID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (r *reader) readRule(v *node.Value) Rule {
	if id := idOf(v.Node()); id != "" {
		r.rule = id
	}
	m := v.Members("id", "description", "effect", "tools", "when", "limit", "confine", "otherwise", "oblige",
		"approvers", "message")
	when := m.Get("when")
	rule := Rule{
		ID:          ReadRuleID(m.Need("id")),
		Description: m.Get("description").Prose(MaxDescription),
		Effect:      readVerdict(m.Need("effect")),
		Tools:       readPatterns(m.Need("tools")),
		When:        readCondition(when),
		Message:     m.Get("message").Prose(MaxDescription),
		At:          v.Node().At,
		WhenAt:      when.Node().At,
		WhenIndent:  when.Node().Indent,
	}
	if limit := m.Get("limit"); limit != nil {
		rule.Limit = readLimit(limit)
	}
	rule.readConfine(m.Get("confine"), m.Get("otherwise"))
	rule.readOblige(m.Get("oblige"))
	if approvers := m.Get("approvers"); approvers != nil {
		rule.Approvers = readApprovers(approvers)
		if rule.Effect != verdict.Hold && rule.Otherwise != verdict.Hold {
			approvers.Problem("is only for rules with effect hold, or otherwise: hold")
		}
	}
	return rule
}

// idOf is the id of a rule, if it is valid, so that problems that come before it in
// the text can name it.
func idOf(n *node.Node) string {
	for _, member := range n.Members {
		if member.Key == "id" && member.Value.Kind == node.String && validID(member.Value.Text) {
			return member.Value.Text
		}
	}
	return ""
}

func validID(text string) bool {
	return len(text) <= MaxRuleID && ruleID.MatchString(text) && text != DefaultRule
}

// ReadRuleID reads the id of a rule. It is empty if it is not valid.
func ReadRuleID(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case text == DefaultRule:
		v.Problem("must not be %q: the default has this name", DefaultRule)
	case !validID(text):
		v.Problem("must be 1 to %d letters, digits, dots, dashes and underscores, the first a letter or digit",
			MaxRuleID)
	default:
		return text
	}
	return ""
}

func readCondition(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case strings.TrimSpace(text) == "":
		v.Problem("must be an expression; leave it out for a rule that always matches")
	case len(text) > MaxCondition:
		v.Problem("must be at most %d bytes", MaxCondition)
	case node.HasHidden(text):
		v.Problem("must not hold control characters other than line breaks and tabs")
	case strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && node.Invisible(r) }):
		v.Problem(`must not hold characters that do not show; within quotes write them as \u200b`)
	}
	return text
}

var roles = []string{"approver", "admin", "owner"}

func readApprovers(v *node.Value) *Approvers {
	m := v.Members("role", "count")
	approvers := &Approvers{Role: roles[0], Count: 1}
	if role := m.Get("role"); role != nil {
		approvers.Role = role.OneOf(roles...)
	}
	if count := m.Get("count"); count != nil {
		approvers.Count = int(count.Int(1, MaxApprovers))
	}
	return approvers
}
