// Package operators shows who runs this installation, to those who do. Nobody becomes an operator here: a command on
// the server makes and removes them.
package operators

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/operator"
	"writ/internal/principal"
)

// Handlers serve the operators.
type Handlers struct {
	Operators *operator.Service
}

// Mount serves the route.
func (h *Handlers) Mount(r *route.Router) {
	route.Handle(r.Tagged("operators"), route.Get("/admin/operators",
		"Who runs this installation, those of longest standing first").
		For(route.Person).ForOperators(), h.list)
}

// OperatorBody is a person who runs the installation.
type OperatorBody struct {
	ID    string    `json:"id" format:"uuid"`
	Email string    `json:"email" example:"ada@example.org"`
	Name  string    `json:"name" example:"Ada Lovelace"`
	Since time.Time `json:"since" doc:"When a command on the server made the person an operator."`
}

// OperatorsBody is all of them: they are few.
type OperatorsBody struct {
	Items []OperatorBody `json:"items" nullable:"false"`
}

func (h *Handlers) list(ctx context.Context, caller principal.Principal, _ *struct{}) (OperatorsBody, error) {
	all, err := h.Operators.Fellows(ctx, caller)
	body := OperatorsBody{Items: make([]OperatorBody, len(all))}
	for i, o := range all {
		body.Items[i] = OperatorBody{o.UserID, o.Email, o.Name, o.AddedAt}
	}
	return body, err
}
