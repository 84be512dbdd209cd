package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestVersionsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		first := yaml("pay", "allow bank.*")
		second := policy.Source{Text: first.Text + "# a comment\n", Format: document.YAML}
		full := e.create(first)
		if full.Status() != policy.Draft || full.LatestVersion != 1 || full.Version.Number != 1 ||
			full.Version.Rules != 1 {
			t.Errorf("created %+v", full.Policy)
		}
		after, err := e.policies.Update(t.Context(), e.owner, full.ID, second, 1)
		if err != nil || after.LatestVersion != 2 || after.Version.Number != 2 {
			t.Fatalf("updated %+v, %v", after.Policy, err)
		}
		again, err := e.policies.Update(t.Context(), e.owner, full.ID, second, policy.AnyVersion)
		if err != nil || again.LatestVersion != 2 {
			t.Errorf("the same text again: %+v, %v, want no new version", again.Policy, err)
		}
		for number, want := range map[int]policy.Source{1: first, 2: second, policy.LatestVersion: second} {
			got, err := e.policies.Get(t.Context(), e.owner, full.ID, number)
			if err != nil || got.Version.Source != want {
				t.Errorf("version %d is %q (%v), want %q", number, got.Version.Source.Text, err, want.Text)
			}
			text, err := e.policies.Export(t.Context(), e.owner, full.ID, number)
			if err != nil || string(text) != want.Text {
				t.Errorf("export of %d is %q (%v), want %q", number, text, err, want.Text)
			}
		}
		if diff := cmp.Diff([]string{"policy.created", "policy.updated"}, e.recorded()); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
}

func TestUpdateConflicts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full, other := e.create(yaml("pay")), e.create(yaml("other"))
		_, err := e.policies.Update(t.Context(), e.owner, full.ID, yaml("pay", "deny *"), 2)
		testenv.WantFault(t, "a version that is not the latest", err, fault.Conflict)
		_, err = e.policies.Update(t.Context(), e.owner, full.ID, yaml("other", "deny *"), 1)
		testenv.WantFault(t, "the name of another policy", err, fault.Conflict)
		_, err = e.policies.Create(t.Context(), e.owner, yaml("pay"))
		testenv.WantFault(t, "a name that is taken", err, fault.Conflict)
		if err := e.policies.Delete(t.Context(), e.owner, other.ID); err != nil {
			t.Fatal(err)
		}
		if _, err = e.policies.Update(t.Context(), e.owner, full.ID, yaml("other", "deny *"), 1); err != nil {
			t.Errorf("the name of a deleted policy: %v", err)
		}
		if _, err := e.policies.Create(t.Context(), person(e.globex, principal.Owner), yaml("other")); err != nil {
			t.Errorf("the name of another organization's policy: %v", err)
		}
	})
}

func TestImport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		first, err := e.policies.Import(t.Context(), e.owner, yaml("pay"))
		if err != nil || first.LatestVersion != 1 {
			t.Fatalf("import: %+v, %v", first.Policy, err)
		}
		second, err := e.policies.Import(t.Context(), e.owner, yaml("pay", "deny *"))
		if err != nil || second.ID != first.ID || second.LatestVersion != 2 {
			t.Errorf("import again: %+v, %v, want version 2 of %s", second.Policy, err, first.ID)
		}
	})
}

func TestDocumentsThatAreNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, test := range map[string]struct {
			text string
			kind fault.Kind
			says string
		}{
			"an unknown member": {"version: v1\nname: x\nfoo: 1\nrules: []\n", fault.Invalid, "line 3, column 1"},
			"a type error": {
				"version: v1\nname: x\nrules:\n  - id: r\n    effect: deny\n    tools: [\"*\"]\n    when: 1 + \n",
				fault.Invalid, "rule r",
			},
			"not YAML":           {"{", fault.Invalid, "line"},
			"nothing":            {"", fault.Invalid, ""},
			"bytes":              {"version: v1\nname: \xff\nrules: []\n", fault.Invalid, "UTF-8"},
			"NUL":                {"version: v1\nname: \"a\x00\"\nrules: []\n", fault.Invalid, "NUL"},
			"more than is taken": {strings.Repeat("#", document.MaxBytes+1), fault.TooLarge, ""},
		} {
			_, err := e.policies.Create(t.Context(), e.owner, policy.Source{Text: test.text, Format: document.YAML})
			testenv.WantFault(t, name, err, test.kind)
			if err == nil || !strings.Contains(detailed(err), test.says) {
				t.Errorf("%s: %v, want that it says %q", name, err, test.says)
			}
		}
		list, err := e.policies.List(t.Context(), e.owner, policy.Filter{}, "", 0)
		if err != nil || len(list.Items) != 0 {
			t.Errorf("stored %+v, %v", list.Items, err)
		}
	})
}

// detailed is everything a fault tells its caller.
func detailed(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return ""
	}
	text := f.Message
	for _, d := range f.Details {
		text += "\n" + d.Field + ": " + d.Message
	}
	return text
}

func TestLists(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var want []string
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			want = append([]string{e.create(yaml(name)).ID}, want...)
		}
		var got []string
		for cursor, more := "", true; more; {
			list, err := e.policies.List(t.Context(), e.owner, policy.Filter{}, cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range list.Items {
				got = append(got, p.ID)
			}
			cursor, more = list.NextCursor, list.HasMore
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		if _, err := e.policies.Activate(t.Context(), e.owner, want[0], policy.LatestVersion); err != nil {
			t.Fatal(err)
		}
		if _, err := e.policies.Activate(t.Context(), e.owner, want[1], policy.LatestVersion); err != nil {
			t.Fatal(err)
		}
		if _, err := e.policies.Deactivate(t.Context(), e.owner, want[1]); err != nil {
			t.Fatal(err)
		}
		for f, ids := range map[policy.Filter][]string{
			{Status: policy.Active}: want[:1], {Status: policy.Inactive}: want[1:2], {Status: policy.Draft}: want[2:],
			{Name: "b"}: want[3:4], {Name: "nope"}: nil, {Name: "b", Status: policy.Active}: nil,
		} {
			list, err := e.policies.List(t.Context(), e.owner, f, "", 0)
			if got := idsOf(list); err != nil || !cmp.Equal(got, ids) {
				t.Errorf("%+v: %v, %v, want %v", f, got, err, ids)
			}
		}
		_, err := e.policies.List(t.Context(), e.owner, policy.Filter{Status: "gone"}, "", 0)
		testenv.WantFault(t, "an unknown state", err, fault.Invalid)
	})
}

func idsOf(list page.Page[policy.Policy]) (ids []string) {
	for _, p := range list.Items {
		ids = append(ids, p.ID)
	}
	return ids
}

func TestVersionsList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.create(yaml("pay"))
		for _, rule := range []string{"deny *", "allow *"} {
			if _, err := e.policies.Update(t.Context(), key(e.acme, principal.DraftPolicy), full.ID, yaml("pay", rule),
				policy.AnyVersion); err != nil {
				t.Fatal(err)
			}
		}
		list, err := e.policies.Versions(t.Context(), e.owner, full.ID, "", 2)
		if err != nil || len(list.Items) != 2 || list.Items[0].Number != 3 || list.Items[1].Number != 2 ||
			!list.HasMore {
			t.Fatalf("%+v, %v, want versions 3 and 2", list, err)
		}
		if a := list.Items[0].Author; a.Kind != principal.Key || !database.IsID(a.ID) ||
			list.Items[0].Source.Text != "" {
			t.Errorf("%+v, want the key as its author, and no text", list.Items[0])
		}
		rest, err := e.policies.Versions(t.Context(), e.owner, full.ID, list.NextCursor, 2)
		if err != nil || len(rest.Items) != 1 || rest.Items[0].Number != 1 || rest.HasMore {
			t.Errorf("%+v, %v, want version 1", rest, err)
		}
	})
}

// TestWhoMayWhat calls everything as everybody: those who may not get Forbidden,
// those of elsewhere NotFound.
func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.create(yaml("pay"))
		ctx, s, id := t.Context(), e.policies, full.ID
		calls := map[string]struct {
			may string // roles and scopes
			do  func(p principal.Principal) error
		}{
			"get": {
				"owner admin approver member viewer policy.draft",
				func(p principal.Principal) error { _, err := s.Get(ctx, p, id, 0); return err },
			},
			"list": {
				"owner admin approver member viewer policy.draft",
				func(p principal.Principal) error { _, err := s.List(ctx, p, policy.Filter{}, "", 0); return err },
			},
			"versions": {
				"owner admin approver member viewer policy.draft",
				func(p principal.Principal) error { _, err := s.Versions(ctx, p, id, "", 0); return err },
			},
			"diff": {
				"owner admin approver member viewer policy.draft",
				func(p principal.Principal) error { _, err := s.Diff(ctx, p, id, 1, 1); return err },
			},
			"export": {
				"owner admin approver member viewer policy.draft",
				func(p principal.Principal) error { _, err := s.Export(ctx, p, id, 0); return err },
			},
			"bindings": {
				"owner admin approver member viewer policy.draft",
				func(p principal.Principal) error { _, err := s.Bindings(ctx, p, id); return err },
			},
			"create": {
				"owner admin approver member policy.draft",
				func(p principal.Principal) error { _, err := s.Create(ctx, p, yaml(database.NewID())); return err },
			},
			"update": {"owner admin approver member policy.draft", func(p principal.Principal) error {
				_, err := s.Update(ctx, p, id, yaml("pay", "deny *"), 0)
				return err
			}},
			"import": {
				"owner admin approver member policy.draft",
				func(p principal.Principal) error { _, err := s.Import(ctx, p, yaml(database.NewID())); return err },
			},
			"validate": {
				"owner admin approver member policy.draft",
				func(p principal.Principal) error { _, err := s.Validate(ctx, p, yaml("x")); return err },
			},
			"simulate": {"owner admin approver member policy.draft", func(p principal.Principal) error {
				_, err := s.Simulate(ctx, p, policy.Subject{PolicyID: id}, bankCall())
				return err
			}},
			"check": {
				"owner admin approver member viewer enforce",
				func(p principal.Principal) error { _, err := s.Check(ctx, p, bankCall()); return err },
			},
			"activate": {
				"owner admin", func(p principal.Principal) error { _, err := s.Activate(ctx, p, id, 1); return err },
			},
			"deactivate": {
				"owner admin", func(p principal.Principal) error { _, err := s.Deactivate(ctx, p, id); return err },
			},
			"rollback": {
				"owner admin", func(p principal.Principal) error { _, err := s.Rollback(ctx, p, id, 1); return err },
			},
			"bind": {"owner admin", func(p principal.Principal) error {
				e.bind(id, policy.Bindings{Roles: []string{"viewer"}})
				_, err := s.Bind(ctx, p, id, policy.Bindings{Roles: []string{"viewer", "member"}})
				return err
			}},
			"unbind": {"owner admin", func(p principal.Principal) error {
				e.bind(id, policy.Bindings{Roles: []string{"viewer", "member"}})
				_, err := s.Unbind(ctx, p, id, policy.Bindings{Roles: []string{"viewer"}})
				return err
			}},
			"set bindings": {
				"owner admin",
				func(p principal.Principal) error {
					_, err := s.SetBindings(ctx, p, id, policy.Bindings{})
					return err
				},
			},
			"delete": {
				"owner admin",
				func(p principal.Principal) error { return s.Delete(ctx, p, e.create(yaml(database.NewID())).ID) },
			},
		}
		for name, call := range calls {
			for _, role := range principal.Roles() {
				e.wantLeave(name+" by "+string(role), call.do(person(e.acme, role)),
					strings.Contains(call.may, string(role)))
			}
			for _, scope := range append(principal.RequestableScopes(), principal.CLI) {
				may := strings.Contains(" "+call.may+" ", " "+string(scope)+" ")
				e.wantLeave(name+" by a key for "+string(scope), call.do(key(e.acme, scope)), may)
			}
			e.wantLeave(name+" by nobody", call.do(principal.Principal{}), false)
			e.wantLeave(name+" by a key of no organization", call.do(key("", principal.DraftPolicy, principal.Enforce)),
				false)
			e.wantLeave(name+" by a person in no organization", call.do(person("", principal.Owner)), false)
			switch name {
			case "list", "create", "import", "validate", "check", "delete":
				continue // about no policy, or one of the caller's own making
			}
			testenv.WantFault(t, name+" by the owner of another organization",
				call.do(person(e.globex, principal.Owner)),
				fault.NotFound)
		}
		testenv.WantFault(t, "delete by the owner of another organization",
			s.Delete(ctx, person(e.globex, principal.Owner), id),
			fault.NotFound)
	})
}

func (e *env) wantLeave(what string, err error, may bool) {
	e.T.Helper()
	switch {
	case may && err != nil:
		e.T.Errorf("%s: %v, want leave", what, err)
	case !may:
		testenv.WantFault(e.T, what, err, fault.Forbidden)
	}
}

// TestLintKnowsEveryRole: a role that is new must not be called a mistake.
func TestLintKnowsEveryRole(t *testing.T) {
	t.Parallel()
	for _, role := range append(principal.Roles(), "nobody") {
		doc := &document.Document{Version: document.Version, Name: "p", Rules: []document.Rule{
			{ID: "r", Tools: []document.Pattern{"a.b"}, When: fmt.Sprintf("user.role == %q", role)},
		}}
		compiled, problems := engine.Compile(doc)
		if problems != nil {
			t.Fatal(problems)
		}
		if doubted := len(compiled.Warnings()) > 0; doubted != (role == "nobody") {
			t.Errorf("%s: %v", role, compiled.Warnings())
		}
	}
}
