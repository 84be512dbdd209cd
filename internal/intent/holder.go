package intent

import (
	"context"
	"strconv"

	"writ/internal/fault"
	"writ/internal/intent/plan"
)

// KeyOf returns the id of the key that declared the plan of a JWT, also after the plan has ended. It is empty if the
// text is not a JWT that was issued.
func (s *Service) KeyOf(ctx context.Context, jwt string) (string, error) {
	shown := plan.ParsePresented([]byte(strconv.Quote(jwt)))
	if shown.JWT == "" {
		return "", nil
	}
	binding, err := s.Issued(ctx, shown)
	if fault.Is(err, fault.Unauthenticated) {
		return "", nil
	}
	return binding.KeyID, err
}
