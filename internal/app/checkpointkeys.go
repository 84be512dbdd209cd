package app

import (
	"context"
	"fmt"

	"writ/internal/keyring"
)

// checkpointKeyTexts are all keys that ever signed checkpoints, as note verifiers.
func (a *Areas) checkpointKeyTexts(ctx context.Context) ([]string, error) {
	all, err := a.Keyring.All(ctx, keyring.Checkpoint)
	if err != nil {
		return nil, fmt.Errorf("list the keys of checkpoints: %w", err)
	}
	texts := make([]string, len(all))
	for i, key := range all {
		if texts[i], err = a.Audit.KeyText(key.Public); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
