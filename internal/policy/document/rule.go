package document

import (
	"regexp"
	"strings"

	"writ/internal/policy/document/node"
	"writ/internal/verdict"
)

// DefaultRule is how the default of a policy is named where a rule would be. No
// rule may have it as its id.
const DefaultRule = "default"

var ruleID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (r *reader) readRule(v *node.Value) Rule {
	rule := Rule{At: v.At()}
	if id := idOf(v.Node()); id != "" {
		r.rule = id
	}
	m := v.Members("id", "description", "effect", "tools", "when", "limit", "approvers", "message")
	if id := m.Need("id"); id != nil {
		rule.ID = readID(id)
	}
	rule.Description = readProse(m.Get("description"))
	if effect := m.Need("effect"); effect != nil {
		rule.Effect = readVerdict(effect)
	}
	if tools := m.Need("tools"); tools != nil {
		rule.Tools = readPatterns(tools)
	}
	if when := m.Get("when"); when != nil {
		rule.When, rule.WhenAt, rule.WhenIndent = readCondition(when), when.At(), when.Node().Indent
	}
	if limit := m.Get("limit"); limit != nil {
		rule.Limit = readLimit(limit)
	}
	if approvers := m.Get("approvers"); approvers != nil {
		rule.Approvers = readApprovers(approvers)
		if rule.Effect != verdict.Hold {
			approvers.Problem("is only for rules with effect hold")
		}
	}
	rule.Message = readProse(m.Get("message"))
	return rule
}

// idOf is the id that a rule has, if it is one, so that problems before it in the
// text can name it.
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

// readID gives an id, or nothing where it is not one.
func readID(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case text == DefaultRule:
		v.Problem("must not be %q: the policy's default is named so", DefaultRule)
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
	case hides(text):
		v.Problem("must not hold control characters other than line breaks and tabs")
	case strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && node.Invisible(r) }):
		v.Problem(`must not hold characters that do not show; within quotes write them as \u200b`)
	}
	return text
}

// roles are those that may approve.
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
