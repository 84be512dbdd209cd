package approval

// usualMinutes is how long a wider yes lasts that is offered without a time.
const usualMinutes = defaultStandingMinutes

// Scopes are the yeses that can be offered to an approver. A pattern is not among
// them: which arguments may vary only a person can say.
func (r *Request) Scopes() []Scope {
	scopes := []Scope{{Kind: Once}}
	if r.SessionID != "" {
		scopes = append(scopes, Scope{Kind: Session})
	}
	scopes = append(scopes, Scope{Kind: Minutes, Minutes: usualMinutes})
	if r.PlanID != "" {
		scopes = append(scopes, Scope{Kind: Plan})
	}
	return scopes
}

// Permits says what a yes of the scope would permit, or why it would be refused.
func (r *Request) Permits(s Scope) (string, error) {
	if err := s.check(r); err != nil {
		return "", err
	}
	return s.complete().Words(*r), nil
}
