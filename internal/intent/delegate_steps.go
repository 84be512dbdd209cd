package intent

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"writ/internal/canonical"
	"writ/internal/fault"
)

// selectSteps is the text of the delegated plan.
func (n *newDelegation) selectSteps() ([]byte, error) {
	var ok bool
	declared := n.parent.Plan
	if n.subtree, ok = declared.Subtree(n.request.Subtree); !ok {
		return nil, fault.Field("subtreePath", "must be a part of the plan: /steps/[0] or /")
	}
	if n.request.Plan != nil {
		return n.request.Plan, nil
	}
	steps := n.subtree.Steps
	if n.request.Actions != nil {
		steps = nil
		for _, action := range n.request.Actions {
			found := declared.Planned(action)
			if len(found) == 0 {
				return nil, fault.New(fault.Forbidden,
					"allowed_actions has a tool that the parent does not permit: a delegation can only narrow")
			}
			for _, i := range found {
				if slices.Contains(n.subtree.Steps, i) && !slices.Contains(steps, i) {
					steps = append(steps, i)
				}
			}
		}
		slices.Sort(steps)
	}
	return declared.Narrowed(steps, cmp.Or(n.request.Goal, declared.Goal)), nil
}

// checkActions refuses steps whose tools are not among those that are delegated: where both were sent, both hold.
func (n *newDelegation) checkActions() error {
	if n.request.Plan == nil || n.request.Actions == nil {
		return nil
	}
	var named []int
	for _, action := range n.request.Actions {
		named = append(named, n.plan.Planned(action)...)
	}
	for i := range n.plan.Steps {
		if !slices.Contains(named, i) {
			return fault.New(fault.Forbidden, "step %d (%s) has a tool that is not in allowed_actions", i,
				plainText(n.plan.Steps[i].Tool))
		}
	}
	return nil
}

// compare refuses what the parent does not permit.
func (n *newDelegation) compare() error {
	switch {
	case len(n.plan.Steps) == 0:
		return fault.New(fault.Invalid, "nothing is delegated: name at least one step")
	case len(n.plan.May) > 0:
		return fault.Field("plan.may", "must be empty: a delegation has steps alone")
	case n.plan.AutoMinted():
		return errSelfPlanned()
	}
	if err := n.checkActions(); err != nil {
		return err
	}
	n.covered = n.parent.Narrowing(n.plan, n.subtree)
	for i, by := range n.covered {
		if by < 0 {
			return fault.New(fault.Forbidden, "step %d (%s) permits what its parent does not, or what a person has not "+
				"agreed to yet: a delegation can only narrow", i, plainText(n.plan.Steps[i].Tool))
		}
	}
	text, err := canonical.Marshal(map[string]any{
		"by": n.by.KeyID, "parent": n.parent.ID, "root": n.parent.Root, "envelope": n.envelope, "delegate": n.delegate,
		"agent": n.request.AgentID, "plan": n.tree.Root(), "subtree": n.subtree.Path, "budget": n.request.Budget,
		"further": n.further, "seconds": n.request.ExpiresIn,
	})
	n.content = sha256.Sum256(text)
	return err
}
