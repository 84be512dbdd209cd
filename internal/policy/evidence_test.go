package policy_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func digest(source policy.Source) string {
	sum := sha256.Sum256([]byte(source.Text))
	return hex.EncodeToString(sum[:])
}

// fresh is what a server that starts now has compiled: nothing.
func (w *env) fresh() *policy.Service {
	return policy.New(w.DB, audit.Unsigned(w.DB), nil, policy.ProposalNotifier{})
}

// problems is what a check finds, whole or not.
func (w *env) problems(all bool) (found []string) {
	w.T.Helper()
	err := w.fresh().CheckEvidence(w.T.Context(), w.acme, all, func(_ string, _ int, problem string) {
		found = append(found, problem)
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return found
}

// TestAPolicyThatWasChangedUnderTheServerIsNotUsed has somebody with the database make a
// deny an allow, in each way that leaves the log as it is.
func TestAPolicyThatWasChangedUnderTheServerIsNotUsed(t *testing.T) {
	t.Parallel()
	lax := yaml("pay", "allow *")
	for name, tamper := range map[string]func(w *env, id string){
		"another text with its digest": func(w *env, id string) {
			w.Exec(`UPDATE policy_version SET source = $2, digest = $3 WHERE policy_id = $1 AND version = 2`, id, lax.Text,
				digest(lax))
		},
		"another format": func(w *env, id string) {
			w.Exec(`UPDATE policy_version SET format = 'json' WHERE policy_id = $1 AND version = 2`, id)
		},
		"an unknown format": func(w *env, id string) {
			w.Exec(`UPDATE policy_version SET format = 'toml' WHERE policy_id = $1 AND version = 2`, id)
		},
		"an older version": func(w *env, id string) {
			w.Exec(`UPDATE policy SET active_version = 1 WHERE id = $1`, id)
		},
		"another text, and the record of it": func(w *env, id string) {
			w.Exec(`UPDATE policy_version SET source = $2, digest = $3 WHERE policy_id = $1 AND version = 2`, id, lax.Text,
				digest(lax))
			w.Exec(`UPDATE audit_entry SET record = REPLACE(record, $1, $2), payload = REPLACE(payload, $1, $2)
				WHERE payload IS NOT NULL`, digest(yaml("pay", "deny bank.*")), digest(lax))
		},
		"hidden entries": func(w *env, _ string) {
			w.Exec(`UPDATE audit_entry SET subject = 'policy/another'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *env) {
				full := w.stricter(t)
				if found := w.problems(true); found != nil {
					t.Fatalf("before: %v", found)
				}
				tamper(w, full.ID)
				s := w.fresh()
				var broken *policy.BrokenError
				if _, err := s.Snapshot(t.Context(), w.acme); !errors.As(err, &broken) {
					t.Errorf("snapshot: %v, want a broken version", err)
				}
				x, err := s.Check(t.Context(), w.owner, bankCall())
				if err == nil && x.Decision.Verdict != verdict.Deny {
					t.Errorf("%s (%s), want a deny or an error", x.Decision.Verdict, x.Decision.Reason)
				}
				if w.problems(false) == nil || w.problems(true) == nil {
					t.Error("a check does not find it")
				}
			})
		})
	}
}

// TestAPolicyThatWasTakenAwayIsFound: nobody who judges misses a policy that somebody
// deactivated or deleted in the database; a check does.
func TestAPolicyThatWasTakenAwayIsFound(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"deactivated": `UPDATE policy SET active_version = NULL WHERE id = $1`,
		"deleted":     `UPDATE policy SET active_version = NULL, deleted_at = 1 WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *env) {
				full := w.active(yaml("pay", "deny bank.*"))
				w.Exec(statement, full.ID)
				if w.problems(false) == nil {
					t.Error("a check does not find it")
				}
			})
		})
	}
}

func TestAnAlteredVersionIsNotPutInForce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *env) {
		lax := yaml("pay", "allow *")
		draft := w.create(yaml("pay", "deny *"))
		w.Exec(`UPDATE policy_version SET source = $2, digest = $3 WHERE policy_id = $1`, draft.ID, lax.Text, digest(lax))
		if _, err := w.policies.Activate(t.Context(), w.owner, draft.ID, 1); err == nil {
			t.Error("it was activated")
		}
		if found := w.problems(true); len(found) != 1 {
			t.Errorf("found %v", found)
		}
	})
}

// TestAnOlderRecordOfAPolicy: entries of older servers say which text in their payload,
// which may have been erased since.
func TestAnOlderRecordOfAPolicy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *env) {
		source, id := yaml("pay", "allow bank.*"), database.NewID()
		w.Exec(`INSERT INTO policy (id, org_id, name, latest_version, active_version, face, created_at, updated_at)
			VALUES ($1, $2, 'pay', 1, 1, '', 1, 1)`, id, w.acme)
		w.Exec(`INSERT INTO policy_version (org_id, policy_id, version, format, source, digest, rules, author_kind, author_id, created_at)
			VALUES ($1, $2, 1, 'yaml', $3, $4, 1, 'user', 'u', 1)`, w.acme, id, source.Text, digest(source))
		log := audit.Unsigned(w.DB)
		w.Write(w.acme, func(ctx context.Context, tx *database.Tx) error {
			for _, action := range []string{"policy.created", "policy.activated"} {
				_, err := log.Append(ctx, tx, audit.Entry{
					Log: w.acme, Action: action, Actor: w.owner, Subject: audit.Subject{Type: "policy", ID: id},
					Payload: map[string]any{"name": "pay", "version": 1, "digest": digest(source)},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		allowed := func(what string) {
			t.Helper()
			if d := w.sayBy(w.fresh(), toolcall.Call{}); d.Verdict != verdict.Allow {
				t.Errorf("%s: %s (%s)", what, d.Verdict, d.Reason)
			}
		}
		allowed("by the payloads")
		logService := audit.New(log, nil)
		for index := range int64(2) {
			if err := logService.ErasePayload(t.Context(), w.owner, w.acme, index, "asked for"); err != nil {
				t.Fatal(err)
			}
		}
		allowed("after the payloads were erased")
		w.Exec(`UPDATE audit_entry SET record = REPLACE(record, '"epoch":0', '"epoch":1') WHERE action = 'payload.erased'`)
		var broken *policy.BrokenError
		if _, err := w.fresh().Snapshot(t.Context(), w.acme); !errors.As(err, &broken) {
			t.Errorf("after the payloads were taken away: %v, want a broken version", err)
		}
	})
}

// TestTheActivePoliciesAreThoseOfTheLog changes which policies are active, or whom they are for, and hides the entries
// that tell of it: the digest of all of them still does.
func TestTheActivePoliciesAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	const hidden = `UPDATE audit_entry SET subject = 'x', verdict = 'allow' WHERE action LIKE 'policy.%' AND record LIKE $1`
	for name, tamper := range map[string]func(w *env, id string){
		"another format": func(w *env, id string) {
			w.Exec(`UPDATE policy_version SET format = 'json' WHERE policy_id = $1 AND version = 2`, id)
		},
		"an unknown format": func(w *env, id string) {
			w.Exec(`UPDATE policy_version SET format = 'toml' WHERE policy_id = $1 AND version = 2`, id)
		},
		"an older version": func(w *env, id string) {
			w.Exec(`UPDATE policy SET active_version = 1 WHERE id = $1`, id)
			w.Exec(hidden, `%"policyVersion":2%`)
		},
		"deactivated": func(w *env, id string) {
			w.Exec(`UPDATE policy SET active_version = NULL WHERE id = $1`, id)
			w.Exec(hidden, `%`+id+`%`)
		},
		"deleted": func(w *env, id string) {
			w.Exec(`DELETE FROM policy_version WHERE policy_id = $1`, id)
			w.Exec(`DELETE FROM policy WHERE id = $1`, id)
		},
		"a version deleted": func(w *env, id string) {
			w.Exec(`DELETE FROM policy_version WHERE policy_id = $1 AND version = 2`, id)
		},
		"bound to somebody else": func(w *env, id string) {
			w.Exec(`INSERT INTO policy_binding (org_id, policy_id, kind, subject) VALUES ($1, $2, 'member', 'nobody')`, w.acme, id)
		},
		"in another organization": func(w *env, id string) {
			w.Exec(`UPDATE policy SET org_id = $2 WHERE id = $1`, id, w.globex)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *env) {
				full := w.stricter(t)
				running := w.fresh()
				if _, err := running.Snapshot(t.Context(), w.acme); err != nil {
					t.Fatal(err)
				}
				tamper(w, full.ID)
				w.create(yaml("a draft", "deny *")) // raises the generation
				var broken *policy.BrokenError
				if _, err := w.fresh().Snapshot(t.Context(), w.acme); !errors.As(err, &broken) {
					t.Errorf("snapshot: %v, want a refusal", err)
				}
				for _, s := range []*policy.Service{w.fresh(), running} {
					x, err := s.Check(t.Context(), w.owner, bankCall())
					if err == nil && (x.Decision.Verdict != verdict.Deny || x.Decision.Reason == "") {
						t.Errorf("%s (%s), want a deny with a reason", x.Decision.Verdict, x.Decision.Reason)
					}
				}
				if w.problems(false) == nil || w.problems(true) == nil {
					t.Error("a check does not find it")
				}
			})
		})
	}
}

// TestActivatingRecordsWhatIsActive: a person has what is stored recorded as active, and a key cannot.
func TestActivatingRecordsWhatIsActive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *env) {
		full := w.active(yaml("pay", "deny bank.*"))
		w.Exec(`UPDATE policy SET active_version = NULL WHERE id = $1`, full.ID)
		key := w.Key(w.NewPerson(w.acme, principal.Member).UserID, w.acme, principal.Enforce)
		source := yaml("manifest a", "deny x.y")
		_, err := w.policies.RegisterManifest(t.Context(), key, policy.Manifest{AgentID: "a", Source: &source})
		testenv.WantFault(t, "a manifest", err, fault.Conflict)
		if _, err := w.policies.Activate(t.Context(), w.owner, full.ID, 1); err != nil {
			t.Fatal(err)
		}
		if d := w.sayBy(w.fresh(), toolcall.Call{}); d.Verdict != verdict.Deny || d.PolicyID != full.ID {
			t.Errorf("after it was activated again: %s by %s", d.Verdict, d.PolicyID)
		}
		if found := w.problems(true); found != nil {
			t.Errorf("found %v", found)
		}
	})
}

// stricter has a policy in force whose second version denies what the first allowed, beside one that allows everything.
func (w *env) stricter(t *testing.T) policy.Full {
	t.Helper()
	w.active(yaml("everything", "allow *"))
	full := w.active(yaml("pay", "allow bank.*"))
	w.update(full.ID, yaml("pay", "deny bank.*"))
	if _, err := w.policies.Activate(t.Context(), w.owner, full.ID, 2); err != nil {
		t.Fatal(err)
	}
	return full
}
