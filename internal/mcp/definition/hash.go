package definition

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

// pinned is what the hash of a tool covers. Another order of members or another spelling of a number is no change.
type pinned struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema"`
	Annotations  jsontext.Value `json:"annotations"`
}

// Hash is the hash of everything of a tool that a model or a client acts on, over its canonical form.
func (t Tool) Hash() (string, error) {
	text, err := canonical.Marshal(pinned(t))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
