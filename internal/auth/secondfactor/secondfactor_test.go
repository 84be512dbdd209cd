package secondfactor_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"writ/internal/auth/secondfactor"
	"writ/internal/auth/totp"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// person has a factor, as their app and the database know it.
type person struct {
	*testenv.Env
	id       string
	factors  *secondfactor.Factors
	key      []byte
	recovery []secret.Text
}

func enrolled(t *testing.T, e *testenv.Env, email string) *person {
	t.Helper()
	p := &person{Env: e, id: e.User(email), factors: secondfactor.New(testenv.Sealer(t, 7))}
	e.Write("", func(ctx context.Context, tx *database.Tx) (err error) {
		p.key, err = p.factors.Begin(ctx, tx, p.id, "")
		return err
	})
	e.Write("", func(ctx context.Context, tx *database.Tx) (err error) {
		p.recovery, err = p.factors.Confirm(ctx, tx, p.id, totp.Code(p.key, totp.Step(e.Now())))
		return err
	})
	if len(p.recovery) != secondfactor.RecoveryCodes {
		t.Fatalf("%d recovery codes", len(p.recovery))
	}
	return p
}

// use tries a code.
func (p *person) use(code string) (accepted bool, err error) {
	err = p.DB.Write(p.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
		used, err := p.factors.Use(ctx, tx, p.id, code)
		accepted = used.Accepted
		return err
	}})
	return accepted, err
}

func (p *person) code() string {
	p.Pass(30 * time.Second)
	return totp.Code(p.key, totp.Step(p.Now()))
}

func TestCodesWorkOnce(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		ada, bob := enrolled(t, e, "ada@example.org"), enrolled(t, e, "bob@example.org")
		if ok, err := ada.use(totp.Code(ada.key, totp.Step(e.Now()))); ok || err != nil {
			t.Errorf("the code of the enrolment again: %v, %v", ok, err)
		}
		code := ada.code()
		for try, want := range []bool{true, false} {
			if ok, err := ada.use(" " + code[:3] + " " + code[3:]); ok != want || err != nil {
				t.Errorf("use %d: %v, %v", try+1, ok, err)
			}
		}
		typed := strings.ToLower(strings.ReplaceAll(ada.recovery[3].Reveal(), "-", " "))
		if ok, err := bob.use(typed); ok || err != nil {
			t.Errorf("a recovery code of somebody else: %v, %v", ok, err)
		}
		for try, want := range []bool{true, false} {
			if ok, err := ada.use(typed); ok != want || err != nil {
				t.Errorf("recovery code, use %d: %v, %v", try+1, ok, err)
			}
		}
		status, err := secondfactor.StatusOf(t.Context(), e.DB, ada.id)
		if err != nil || !status.Enrolled || status.RecoveryCodes != secondfactor.RecoveryCodes-1 {
			t.Errorf("%+v, %v", status, err)
		}
	})
}

// TestOneOfTwoReplicas: the same code at the same time on two servers is accepted once.
func TestOneOfTwoReplicas(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		here := enrolled(t, e, "ada@example.org")
		there := *here
		there.Env = e.Replica()
		code, accepted := here.code(), make(chan bool, 2)
		for _, err := range testenv.AtOnce(
			func() error { ok, err := here.use(code); accepted <- ok; return err },
			func() error { ok, err := there.use(code); accepted <- ok; return err },
		) {
			if err != nil {
				t.Error(err)
			}
		}
		first, second := <-accepted, <-accepted
		if first == second {
			t.Error("the code was not accepted exactly once")
		}
	})
}

func TestSealedAndHashed(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		ada, bob := enrolled(t, e, "ada@example.org"), enrolled(t, e, "bob@example.org")
		stored := e.Text("second_factor", "recovery_code")
		for _, p := range []*person{ada, bob} {
			if strings.Contains(stored, totp.Text(p.key)) || bytes.Contains([]byte(stored), p.key) ||
				strings.Contains(stored, p.recovery[0].Reveal()) {
				t.Error("a secret is stored as it is")
			}
		}
		// Whoever can write to the database cannot give one person the factor of another.
		e.Exec(`UPDATE second_factor SET sealed = (SELECT sealed FROM second_factor WHERE user_id = $1) WHERE user_id = $2`,
			bob.id, ada.id)
		ada.key = bob.key
		if ok, err := ada.use(ada.code()); ok || err == nil {
			t.Errorf("a factor that was moved: %v, %v", ok, err)
		}
	})
}

func TestLockAndRemoval(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		ada := enrolled(t, e, "ada@example.org")
		for range 10 {
			if ok, err := ada.use("no code"); ok || err != nil {
				t.Fatalf("%v, %v", ok, err)
			}
		}
		_, err := ada.use(ada.code())
		testenv.WantFault(t, "the eleventh", err, fault.TooMany)
		if ok, err := ada.use(ada.recovery[0].Reveal()); !ok || err != nil {
			t.Errorf("a recovery code of whom others lock out: %v, %v", ok, err)
		}
		e.Pass(time.Hour)
		if ok, err := ada.use(ada.code()); !ok || err != nil {
			t.Errorf("an hour later: %v, %v", ok, err)
		}
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			_, err := ada.factors.Begin(ctx, tx, ada.id, "")
			testenv.WantFault(t, "a second one", err, fault.Conflict)
			if removed, err := secondfactor.RemoveVouched(ctx, tx, ada.id); removed || err != nil {
				t.Errorf("one that its owner added is taken for a vouched one: %v, %v", removed, err)
			}
			return secondfactor.Remove(ctx, tx, ada.id)
		})
		if ok, err := ada.use(ada.code()); ok || err != nil {
			t.Errorf("after the removal: %v, %v", ok, err)
		}
		if n := e.Number(`SELECT COUNT(*) FROM recovery_code`); n != 0 {
			t.Errorf("%d recovery codes stay", n)
		}
	})
}

// TestABegunFactorIsNotGuessed: wrong codes of a secret that is not confirmed count, and it ends by itself.
func TestABegunFactorIsNotGuessed(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		factors, user := secondfactor.New(testenv.Sealer(t, 7)), e.User("ada@example.org")
		var key []byte
		begin := func() {
			e.Write("", func(ctx context.Context, tx *database.Tx) (err error) {
				key, err = factors.Begin(ctx, tx, user, "")
				return err
			})
		}
		confirm := func(code string) (codes []secret.Text, err error) {
			err = e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
				codes, err = factors.Confirm(ctx, tx, user, code)
				return err
			}})
			return codes, err
		}
		begin()
		for range 10 {
			if codes, err := confirm("no code"); codes != nil || err != nil {
				t.Fatalf("%v, %v", codes, err)
			}
		}
		_, err := confirm(totp.Code(key, totp.Step(e.Now())))
		testenv.WantFault(t, "the eleventh", err, fault.TooMany)
		begin()
		e.Pass(15 * time.Minute)
		_, err = confirm(totp.Code(key, totp.Step(e.Now())))
		testenv.WantFault(t, "a quarter of an hour later", err, fault.Conflict)
		begin()
		if codes, err := confirm(totp.Code(key, totp.Step(e.Now()))); len(codes) == 0 || err != nil {
			t.Errorf("%v, %v", codes, err)
		}
	})
}
