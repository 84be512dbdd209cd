package shell

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// FuzzQuick holds that quick makes the tree that the parser makes, or gives up.
func FuzzQuick(f *testing.F) {
	for _, seed := range []string{
		command200, "ls", " a b;c ; d;", "a|b&&c||d|e;f", "a>b 2>&1 <c >>d", "> x", "2>x a", "a 2> 'b' c", "a>b",
		"a 22>b",
		`a'b'"c" "" '' "d e" --x='*.go'`, "if a", "a if", "x=1 a", "a x=1", "a{b,c} {} {x}>y", "[ -f a ]", "a[1] b[2]",
		"A0] 0[",
		"a && b &", "a | & b", "a |& b", "a;;b", ";a", "a ||", "é", "'é'", "a #b", "a#b", "! a", "a !", "a >& b",
		"a >&-",
		"time a", "a time", "let x", "+(a)", "a'b", `"a$b"`, "a\\b", "a\tb", "a \x01", "a 2'3'>x", "function a", "]] x",
		"a >", "a > ; b", "a >>> b", "a >| b", "a <> b", "a <<b", "a <(b)", "{ a; }", "a*?^~ ~/x", "@x", "a=b", "a+=b",
		hidden200, `a "$b" $c "x$(d 'e' | f)y" $(g)h`, "x=1 y= z='a b' a", "x=$(a) >b", "x=1", "x=(1)", "a $(b",
		"a $((1))",
		"for x in a $b; do c; d; done | e", "for x in; do a; done >b", "for x; do a; done", "for x in a; do done",
		"$x a",
		"[[ $a == b* ]]", "[[ a -eq 1 ]] && b", "[[ -f a ]]", "[[ a ]]", "[[ a == b ]] c", "$(for x in a; do b; done)",
		"$(a;)", "$()", `"$("a")"`, "$x[1]", "a$", `"$"`, "a)", "for x in a; do b; done > ;", "[[ a == b ]]c", "a=~ b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, _, ok := new(quick).read(text)
		if !ok || ambiguous(text) {
			return
		}
		file, err := parseText(text)
		if err != nil {
			t.Fatalf("quick reads %q, the parser says %v", text, err)
		}
		if got, want := shape(list), shape(file.Stmts); got != want {
			t.Errorf("%q: got  %s\nwant %s", text, got, want)
		}
	})
}

// shape is a tree as text, without positions.
func shape(list []*syntax.Stmt) string {
	var b strings.Builder
	writeShape(&b, reflect.ValueOf(list))
	return b.String()
}

func writeShape(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			writeShape(b, v.Elem())
		}
	case reflect.Slice:
		b.WriteString("(")
		for i := range v.Len() {
			writeShape(b, v.Index(i))
		}
		b.WriteString(")")
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[syntax.Pos]() {
			return
		}
		b.WriteString(" " + v.Type().Name())
		for i := range v.NumField() {
			writeShape(b, v.Field(i))
		}
	default:
		fmt.Fprintf(b, " %#v", v.Interface())
	}
}
