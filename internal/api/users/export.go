package users

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// exportStep is how many keys or entries are read at once.
const exportStep = 200

func (h *Handlers) mountExport(r *route.Router) {
	rt := route.Get("/user/export", "All that is stored about the caller, as one JSON file without secrets").
		For(route.Person).Throttled(throttle.ExportAccount)
	r.Serve(rt, h.export)
	anything := &huma.Schema{Type: huma.TypeObject}
	r.Document(rt, huma.Operation{Responses: map[string]*huma.Response{
		"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: anything}}},
	}})
}

// section is a member of the file. Its writer is called when the members before it are written.
type section struct {
	name  string
	write func(ctx context.Context, to *jsontext.Encoder, caller principal.Principal) error
}

// export writes the file section by section, each read when the one before is sent.
func (h *Handlers) export(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	profile, err := h.profile(r.Context(), caller, nil) // an account that cannot be read is answered as an error
	if err != nil {
		return err
	}
	parts, err := route.NewParts(w)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="writ-account.json"`)
	to := jsontext.NewEncoder(parts)
	err = to.WriteToken(jsontext.BeginObject)
	for _, s := range append([]section{{"profile", one(profile)}}, h.sections()...) {
		if err == nil {
			err = to.WriteToken(jsontext.String(s.name))
		}
		if err == nil {
			err = s.write(r.Context(), to, caller)
		}
	}
	if err == nil {
		err = to.WriteToken(jsontext.EndObject)
	}
	if err == nil {
		return parts.Flush()
	}
	// The answer has begun: the connection breaks, so that no reader takes the part for the whole.
	h.Logger.WarnContext(r.Context(), "an export ended early",
		"requestId", route.RequestOf(r.Context()).ID, "error", err)
	panic(http.ErrAbortHandler)
}

// one writes a value that is known.
func one(value any) func(context.Context, *jsontext.Encoder, principal.Principal) error {
	return func(_ context.Context, to *jsontext.Encoder, _ principal.Principal) error {
		return json.MarshalEncode(to, value)
	}
}

// read writes what is read when it is its turn.
func read[T any](
	find func(ctx context.Context, caller principal.Principal) (T, error),
) func(context.Context, *jsontext.Encoder, principal.Principal) error {
	return func(ctx context.Context, to *jsontext.Encoder, caller principal.Principal) error {
		value, err := find(ctx, caller)
		if err != nil {
			return err
		}
		return json.MarshalEncode(to, value)
	}
}

func (h *Handlers) sections() []section {
	return []section{
		{"preferences", read(func(ctx context.Context, caller principal.Principal) (LookBody, error) {
			return h.preferences(ctx, caller, nil)
		})},
		{"secondFactor", read(func(ctx context.Context, caller principal.Principal) (SecondFactorBody, error) {
			return h.secondFactor(ctx, caller, nil)
		})},
		{"organizations", read(h.exportOrganizations)},
		{"sessions", read(h.exportSessions)},
		{"identities", read(h.exportIdentities)},
		{"keys", h.exportKeys},
		{"entries", h.exportEntries},
	}
}

func (h *Handlers) exportOrganizations(ctx context.Context, caller principal.Principal) ([]m, error) {
	mine, err := h.Organizations.ListForUser(ctx, caller.UserID)
	list := []m{}
	for _, o := range mine {
		list = append(list, m{"id": o.ID, "name": o.Name, "role": o.Role})
	}
	return list, err
}

// m is an object of the file.
type m = map[string]any

func (h *Handlers) exportSessions(ctx context.Context, caller principal.Principal) ([]m, error) {
	sessions, err := h.Auth.Sessions(ctx, caller)
	list := []m{}
	for _, s := range sessions {
		list = append(list, m{
			"id": s.ID, "address": s.Address, "userAgent": s.UserAgent, "createdAt": s.CreatedAt,
			"lastUsedAt": s.LastUsedAt, "expiresAt": s.ExpiresAt,
		})
	}
	return list, err
}

func (h *Handlers) exportIdentities(ctx context.Context, caller principal.Principal) ([]m, error) {
	identities, err := h.Federation.Identities(ctx, caller)
	list := []m{}
	for _, i := range identities {
		list = append(list, m{
			"id": i.ID, "issuer": i.Issuer, "email": i.Email, "createdAt": i.CreatedAt,
		})
	}
	return list, err
}

// exportKeys writes the caller's keys of every organization, without their secrets, which nobody has.
func (h *Handlers) exportKeys(ctx context.Context, to *jsontext.Encoder, caller principal.Principal) error {
	if err := to.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for cursor, more := "", true; more; {
		page, err := h.Keys.List(ctx, caller, cursor, exportStep)
		if err != nil {
			return err
		}
		for _, k := range page.Items {
			if err := json.MarshalEncode(to, m{
				"id": k.ID, "organizationId": k.OrgID, "name": k.Name, "prefix": k.Prefix,
				"scopes": k.Scopes, "createdAt": k.CreatedAt, "revokedAt": k.RevokedAt,
			}); err != nil {
				return err
			}
		}
		cursor, more = page.NextCursor, page.HasMore
	}
	return to.WriteToken(jsontext.EndArray)
}

// exportEntries writes what the system's log says about the caller. The logs of organizations belong to those.
func (h *Handlers) exportEntries(ctx context.Context, to *jsontext.Encoder, caller principal.Principal) error {
	if err := to.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for after, more := int64(-1), true; more; {
		entries, err := audit.AboutPerson(ctx, h.Database, caller.UserID, after, exportStep)
		if err != nil {
			return err
		}
		for _, e := range entries {
			after = e.Index
			entry := m{"index": e.Index, "time": database.Time(e.Time).Format(time.RFC3339Nano), "action": e.Action}
			if e.Payload != "" {
				entry["payload"] = jsontext.Value(e.Payload)
			}
			if err := json.MarshalEncode(to, entry); err != nil {
				return err
			}
		}
		more = len(entries) == exportStep
	}
	return to.WriteToken(jsontext.EndArray)
}
